// SPDX-License-Identifier: Apache-2.0
#include "values/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fmt/ranges.h>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace anemone::values {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostHeader = 64 << 10;
constexpr std::size_t kMostDimensions = 32;  // numpy's own limit

struct Header {
  std::string dtype;
  std::optional<bool> is_column_major;
  std::optional<Shape> shape;
};

// A dictionary of the three members, as Python prints it.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  std::optional<Header> parse() {
    Header out;
    if (!accept('{')) return std::nullopt;
    while (!accept('}')) {
      const auto key = text();
      if (!key || !accept(':')) return std::nullopt;
      if (*key == "descr") {
        const auto value = text();
        if (!value) return std::nullopt;
        out.dtype = *value;
      } else if (*key == "fortran_order") {
        out.is_column_major = boolean();
      } else if (*key == "shape") {
        out.shape = shape();
      } else {
        return std::nullopt;
      }
      if (!accept(',') && peek() != '}') return std::nullopt;
    }
    skip_spaces();
    if (at_ != text_.size() || out.dtype.empty() || !out.is_column_major || !out.shape)
      return std::nullopt;
    return out;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  char peek() {
    skip_spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char symbol) {
    if (peek() != symbol || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  std::optional<std::string> text() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == text_.npos) return std::nullopt;
    const std::size_t begin = std::exchange(at_, end + 1) + 1;
    return std::string(text_.substr(begin, end - begin));
  }
  std::optional<bool> boolean() {
    for (const auto& [word, value] : {std::pair(std::string_view("True"), true), {"False", false}})
      if (peek() == word[0] && text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    return std::nullopt;
  }
  std::optional<Shape> shape() {
    Shape out;
    if (!accept('(')) return std::nullopt;
    while (!accept(')')) {
      skip_spaces();
      std::int64_t size = 0;
      const char* const begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0 || out.size() >= kMostDimensions) return std::nullopt;
      at_ += static_cast<std::size_t>(end - begin);
      out.push_back(size);
      if (!accept(',') && peek() != ')') return std::nullopt;
    }
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

constexpr std::pair<std::string_view, DType> kTypes[] = {
    {"|b1", DType::kBool},   {"|i1", DType::kInt8},   {"|u1", DType::kUInt8},
    {"<i2", DType::kInt16},  {"<u2", DType::kUInt16}, {"<i4", DType::kInt32},
    {"<u4", DType::kUInt32}, {"<i8", DType::kInt64},  {"<u8", DType::kUInt64},
    {"<f2", DType::kFp16},   {"<f4", DType::kFp32},   {"<f8", DType::kFp64}};

std::optional<DType> dtype_of(std::string_view descr) {
  for (const auto& [name, dtype] : kTypes)
    if (name == descr) return dtype;
  return std::nullopt;
}

// Elements of an array whose first index runs fastest, in the order in which the last one does.
void copy_row_major(const char* data, std::size_t size, Tensor& out) {
  const Shape& shape = out.shape();
  std::byte* to = out.mutable_data();
  const auto count = static_cast<std::size_t>(out.view().size());
  std::vector<std::size_t> strides(shape.size());
  std::size_t stride = size;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    strides[i] = stride;
    stride *= static_cast<std::size_t>(shape[i]);
  }
  std::vector<std::int64_t> index(shape.size());
  std::size_t from = 0;
  for (std::size_t n = 0; n < count; ++n, to += size) {
    std::memcpy(to, data + from, size);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < shape[axis]) break;
      from -= strides[axis] * static_cast<std::size_t>(shape[axis]);
      index[axis] = 0;
    }
  }
}

std::size_t little_endian(std::string_view bytes) {
  std::size_t out = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    out = out << 8 | static_cast<unsigned char>(bytes[i]);
  return out;
}

}  // namespace

Result<Tensor> parse_npy(std::string_view bytes, std::string_view subject) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 10)
    return corrupt("[{}] expected a .npy file, got another", subject);
  const auto version = static_cast<unsigned>(static_cast<unsigned char>(bytes[6]));
  if (version < 1 || version > 3)
    return unsupported("[{}] expected version 1 to 3 of the .npy format, got {}", subject, version);
  const std::size_t length_size = version == 1 ? 2 : 4;
  const std::size_t length = little_endian(bytes.substr(8, length_size));
  const std::size_t begin = 8 + length_size;
  if (bytes.size() < begin || length > kMostHeader || bytes.size() - begin < length)
    return corrupt("[{}] expected a header of {} bytes within a file of {}", subject, length,
                   bytes.size());
  const auto header = HeaderParser(bytes.substr(begin, length)).parse();
  if (!header)
    return corrupt("[{}] expected a header with descr, fortran_order and shape, got another",
                   subject);
  const auto dtype = dtype_of(header->dtype);
  if (!dtype)
    return unsupported(
        "[{}] expected little-endian bools, integers or floats of 2 to 8 bytes, got {}", subject,
        header->dtype);
  const auto elements = checked_element_count(*header->shape);
  if (!elements.ok()) return elements.status().with(std::string(subject));
  const std::string_view data = bytes.substr(begin + length);
  const std::uint64_t size = dtype_bytes(*dtype, static_cast<std::uint64_t>(*elements));
  if (data.size() != size)
    return corrupt("[{}] expected {} bytes of elements, got {}", subject, size, data.size());
  Tensor out(*dtype, *header->shape);
  if (*header->is_column_major)
    copy_row_major(data.data(), static_cast<std::size_t>(dtype_bytes(*dtype, 1)), out);
  else if (size > 0)
    std::memcpy(out.mutable_data(), data.data(), static_cast<std::size_t>(size));
  if (*dtype == DType::kBool)
    for (const std::byte element : out.view().bytes())
      if (element > std::byte{1})
        return corrupt("[{}] expected bools of 0 or 1, got {}", subject, static_cast<int>(element));
  return out;
}

Result<std::string> npy_bytes(const TensorView& values, std::string_view subject) {
  constexpr std::size_t kPrefix = 10;     // what stands before the header
  constexpr std::size_t kAlignment = 64;  // of the elements in the file, as numpy has it
  const auto* const type =
      std::ranges::find(kTypes, values.dtype, &std::pair<std::string_view, DType>::second);
  if (type == std::end(kTypes))
    return unsupported("[{}] expected elements of a type that .npy files have, got {}", subject,
                       dtype_name(values.dtype));
  if (values.shape.size() > kMostDimensions)
    return unsupported("[{}] expected at most {} dimensions in a .npy file, got {}", subject,
                       kMostDimensions, values.shape.size());
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type->first,
                  fmt::join(values.shape, ", "), values.shape.size() == 1 ? "," : "");
  header.append(kAlignment - 1 - (kPrefix + header.size()) % kAlignment, ' ');
  header += '\n';
  std::string out(kMagic);
  for (const std::size_t byte :
       {std::size_t{1}, std::size_t{0}, header.size() & 0xff, header.size() >> 8})
    out += static_cast<char>(byte);
  out += header;
  const std::span<const std::byte> bytes = values.bytes();
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return out;
}

}  // namespace anemone::values
