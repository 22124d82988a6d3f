// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf/gguf_source.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace anemone::checkpoint::gguf {
namespace {

class GgufDecoder : public WeightDecoder {
 public:
  explicit GgufDecoder(const TensorMapping& mapping)
      : type_(mapping.tensor->type),
        head_rows_(mapping.head_rows),
        is_negative_exp_(mapping.is_negative_exp),
        offset_(mapping.offset) {}

  std::string_view storage() const override {
    return type_->plain ? dtype_name(*type_->plain) : type_->name;
  }

  void read(const WeightRef& weight, std::int64_t begin, std::span<float> out) const override {
    const std::int64_t columns = columns_of(weight);
    while (!out.empty()) {
      const std::int64_t row = begin / columns;
      const std::int64_t column = begin % columns;
      const auto count = std::min(out.size(), static_cast<std::size_t>(columns - column));
      read_part(row_bytes(weight, row), column, out.first(count));
      out = out.subspan(count);
      begin += static_cast<std::int64_t>(count);
    }
  }

  int quantized_bits() const override {
    return type_->plain ? 0 : static_cast<int>(8 * type_->bytes / type_->values);
  }

  std::optional<QuantizedForm> quantized_form() const override {
    // Beside integers of 8 bits, minimums would take room for hardly any precision.
    if (type_->plain || (type_->is_affine && type_->bits != 4)) return std::nullopt;
    return QuantizedForm{type_->group, static_cast<int>(type_->bits), type_->has_half_scales,
                         type_->is_affine};
  }

  void read_quants(const WeightRef& weight, std::int64_t row, std::span<std::int8_t> quants,
                   std::span<float> scales) const override {
    const std::byte* in = row_bytes(weight, row).data();
    const std::size_t groups = type_->values / type_->group;
    Block block;
    for (std::size_t i = 0; i * type_->values < quants.size(); ++i, in += type_->bytes) {
      type_->unpack(in, block);
      std::copy_n(block.quants.begin(), type_->values, &quants[i * type_->values]);
      std::copy_n(block.scales.begin(), groups, &scales[i * groups]);
    }
    if (type_->is_affine)
      for (std::int8_t& quant : quants) quant = static_cast<std::int8_t>(quant - kAffineZero);
  }

  void read_minimums(const WeightRef& weight, std::int64_t row,
                     std::span<float> minimums) const override {
    const std::byte* in = row_bytes(weight, row).data();
    const std::size_t groups = type_->values / type_->group;
    Block block;
    for (std::size_t i = 0; i * groups < minimums.size(); ++i, in += type_->bytes) {
      type_->unpack(in, block);
      for (std::size_t g = 0; g < groups; ++g)
        minimums[i * groups + g] = block.minimums[g] + kAffineZero * block.scales[g];
    }
  }

 private:
  // Makes integers of 4 bits without a sign such with one.
  static constexpr int kAffineZero = 8;

  // A bias is a matrix of one column where its rows are in another order.
  std::int64_t columns_of(const WeightRef& weight) const {
    return weight.shape.empty() || (head_rows_ != 0 && weight.shape.size() == 1)
               ? 1
               : weight.shape.back();
  }

  std::span<const std::byte> row_bytes(const WeightRef& weight, std::int64_t row) const {
    if (head_rows_ != 0) {
      const std::int64_t half = head_rows_ / 2;
      const std::int64_t in_head = row % head_rows_;
      row += 2 * (in_head % half) + in_head / half - in_head;
    }
    const auto size =
        static_cast<std::size_t>(columns_of(weight)) / type_->values * std::size_t{type_->bytes};
    return weight.bytes.subspan(static_cast<std::size_t>(row) * size, size);
  }

  void read_part(std::span<const std::byte> row, std::int64_t column, std::span<float> out) const {
    if (type_->plain) {
      WeightRef part;
      part.dtype = *type_->plain;
      part.bytes = row;
      part.shape = {static_cast<std::int64_t>(row.size() / type_->bytes)};
      read_floats(part, column, out);
      for (float& value : out) value = (is_negative_exp_ ? std::log(-value) : value) + offset_;
      return;
    }
    std::array<float, kMaxBlockValues> scratch;
    const std::span<float> values(scratch.data(), type_->values);
    auto begin = static_cast<std::size_t>(column);
    while (!out.empty()) {
      const std::size_t skip = begin % type_->values;
      const std::size_t count = std::min(out.size(), type_->values - skip);
      const std::byte* in = row.data() + begin / type_->values * type_->bytes;
      if (count == type_->values) {
        decode_block(*type_, in, out.first(count));
      } else {
        decode_block(*type_, in, values);
        std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(skip), count, out.begin());
      }
      out = out.subspan(count);
      begin += count;
    }
  }

  const BlockType* type_;
  const std::int64_t head_rows_;
  const bool is_negative_exp_;
  const float offset_;
};

class GgufSource : public WeightMap {
 public:
  GgufSource(std::shared_ptr<const GgufFile> file, const std::vector<TensorMapping>& mappings)
      : WeightMap(file->path()), file_(std::move(file)) {
    for (const TensorMapping& mapping : mappings) {
      const TensorInfo& tensor = *mapping.tensor;
      WeightRef weight;
      weight.dtype = tensor.type->plain.value_or(DType::kFp32);
      weight.shape = mapping.shape.empty() ? tensor.shape : mapping.shape;
      weight.bytes = tensor.bytes;
      if (mapping.matrix >= 0) {
        const std::size_t size = tensor.bytes.size() / static_cast<std::size_t>(tensor.shape[0]);
        weight.bytes = tensor.bytes.subspan(static_cast<std::size_t>(mapping.matrix) * size, size);
        weight.shape.erase(weight.shape.begin());
      }
      weight.file = tensor.file;
      if (!tensor.type->plain || mapping.head_rows != 0 || mapping.is_changed())
        weight.decoder = decoder(mapping);
      add(mapping.name, std::move(weight));
    }
  }

 private:
  const WeightDecoder* decoder(const TensorMapping& mapping) {
    auto& made = decoders_[{mapping.tensor->type, mapping.head_rows, mapping.is_negative_exp,
                            mapping.offset}];
    if (made == nullptr) made = std::make_unique<GgufDecoder>(mapping);
    return made.get();
  }

  std::shared_ptr<const GgufFile> file_;
  std::map<std::tuple<const BlockType*, std::int64_t, bool, float>,
           std::unique_ptr<const WeightDecoder>>
      decoders_;
};

}  // namespace

std::shared_ptr<const WeightSource> make_source(std::shared_ptr<const GgufFile> file,
                                                const std::vector<TensorMapping>& mappings) {
  return std::make_shared<GgufSource>(std::move(file), mappings);
}

std::shared_ptr<const WeightSource> make_plain_source(std::shared_ptr<const GgufFile> file) {
  std::vector<TensorMapping> mappings;
  for (const auto& [name, tensor] : file->tensors())
    mappings.push_back({.tensor = &tensor, .name = name});
  return make_source(std::move(file), mappings);
}

}  // namespace anemone::checkpoint::gguf
