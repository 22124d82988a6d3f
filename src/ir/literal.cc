// SPDX-License-Identifier: Apache-2.0
#include "ir/literal.h"

#include <cstring>

#include "base/check.h"
#include "base/error.h"

namespace anemone::ir {
namespace {

class OwnedData : public Data {
 public:
  explicit OwnedData(Tensor tensor) : tensor_(std::make_shared<const Tensor>(std::move(tensor))) {}
  std::uint64_t size_bytes() const override { return tensor_->view().size_bytes(); }
  Result<DataBytes> load() const override { return DataBytes{tensor_->view().bytes(), tensor_}; }

 private:
  std::shared_ptr<const Tensor> tensor_;
};

class MappedData : public Data {
 public:
  MappedData(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}
  std::uint64_t size_bytes() const override { return bytes_.size(); }
  Result<DataBytes> load() const override { return DataBytes{bytes_, owner_}; }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

class LazyData : public Data {
 public:
  LazyData(std::uint64_t size_bytes, std::function<Result<Tensor>()> make)
      : size_bytes_(size_bytes), make_(std::move(make)) {}
  std::uint64_t size_bytes() const override { return size_bytes_; }
  bool is_resident() const override { return false; }
  Result<DataBytes> load() const override {
    ANEMONE_ASSIGN_OR_RETURN(Tensor tensor, make_());
    ANEMONE_CHECK(tensor.view().size_bytes() == size_bytes_);
    auto owner = std::make_shared<const Tensor>(std::move(tensor));
    return DataBytes{owner->view().bytes(), owner};
  }

 private:
  std::uint64_t size_bytes_;
  std::function<Result<Tensor>()> make_;
};

}  // namespace

std::shared_ptr<const Data> owned_data(Tensor tensor) {
  return std::make_shared<OwnedData>(std::move(tensor));
}
std::shared_ptr<const Data> mapped_data(std::span<const std::byte> bytes,
                                        std::shared_ptr<const void> owner) {
  return std::make_shared<MappedData>(bytes, std::move(owner));
}
std::shared_ptr<const Data> lazy_data(std::uint64_t size_bytes,
                                      std::function<Result<Tensor>()> make) {
  return std::make_shared<LazyData>(size_bytes, std::move(make));
}

Literal::Literal(Type type, std::shared_ptr<const Data> data)
    : type_(std::move(type)), data_(std::move(data)) {
  ANEMONE_CHECK(type_.is_tensor() && type_.dtype != DType::kString && data_ != nullptr);
}
Literal::Literal(Type type, Strings strings)
    : type_(std::move(type)), strings_(std::move(strings)) {}
Literal::Literal(Type type, List items) : type_(std::move(type)), items_(std::move(items)) {}
Literal::Literal(Type type, Dictionary entries)
    : type_(std::move(type)), entries_(std::move(entries)) {}

Literal Literal::of(Tensor tensor) {
  Type type = Type::tensor(tensor.dtype(), tensor.shape());
  return Literal(std::move(type), owned_data(std::move(tensor)));
}
Literal Literal::text(std::string value) {
  return Literal(Type::scalar(DType::kString), Strings{std::move(value)});
}
Literal Literal::boolean(bool value) {
  return of(Tensor::scalar<bool>(value));
}
Literal Literal::int32(std::int32_t value) {
  return of(Tensor::scalar(value));
}
Literal Literal::int32s(std::span<const std::int32_t> values) {
  return of(Tensor::from<std::int32_t>({static_cast<std::int64_t>(values.size())}, values));
}
Literal Literal::int32s(std::initializer_list<std::int32_t> values) {
  return int32s(std::span<const std::int32_t>(values.begin(), values.size()));
}
Literal Literal::bools(std::initializer_list<bool> values) {
  return of(Tensor::from<bool>({static_cast<std::int64_t>(values.size())},
                               std::span<const bool>(values.begin(), values.size())));
}
Literal Literal::number(double value, DType dtype) {
  Tensor tensor(dtype, {});
  const float element = static_cast<float>(value);
  store_floats(std::span(&element, 1), tensor.mutable_view());
  return of(std::move(tensor));
}
Literal Literal::string_dictionary(
    const std::vector<std::pair<std::string, std::string>>& entries) {
  Dictionary dictionary;
  for (const auto& [key, value] : entries) dictionary.emplace_back(text(key), text(value));
  return Literal(Type::dictionary(Type::scalar(DType::kString), Type::scalar(DType::kString)),
                 std::move(dictionary));
}

std::optional<std::string_view> Literal::as_text() const {
  if (!type_.is_tensor() || type_.dtype != DType::kString || strings_.size() != 1)
    return std::nullopt;
  return strings_[0];
}

Result<Tensor> Literal::to_tensor() const {
  if (data_ == nullptr) return internal_error("a {} literal has no elements", to_string(type_));
  ANEMONE_ASSIGN_OR_RETURN(const DataBytes loaded, data_->load());
  return Tensor::copy_of({type_.dtype, type_.shape, loaded.bytes.data()});
}

Result<bool> equal(const Literal& a, const Literal& b) {
  if (a.type() != b.type() || a.strings() != b.strings() || a.items().size() != b.items().size() ||
      a.entries().size() != b.entries().size() || (a.data() == nullptr) != (b.data() == nullptr))
    return false;
  for (std::size_t i = 0; i < a.items().size(); ++i) {
    ANEMONE_ASSIGN_OR_RETURN(const bool same, equal(a.items()[i], b.items()[i]));
    if (!same) return false;
  }
  for (std::size_t i = 0; i < a.entries().size(); ++i) {
    ANEMONE_ASSIGN_OR_RETURN(const bool keys, equal(a.entries()[i].first, b.entries()[i].first));
    ANEMONE_ASSIGN_OR_RETURN(const bool values,
                             equal(a.entries()[i].second, b.entries()[i].second));
    if (!keys || !values) return false;
  }
  if (a.data() == nullptr || a.data() == b.data()) return true;
  ANEMONE_ASSIGN_OR_RETURN(const DataBytes left, a.data()->load());
  ANEMONE_ASSIGN_OR_RETURN(const DataBytes right, b.data()->load());
  return left.bytes.size() == right.bytes.size() &&
         (left.bytes.empty() ||
          std::memcmp(left.bytes.data(), right.bytes.data(), left.bytes.size()) == 0);
}

}  // namespace anemone::ir
