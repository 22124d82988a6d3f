// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf/gguf_value.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/escape.h"

namespace anemone::checkpoint::gguf {
namespace {

// Bytes of one item; 0 for strings, which have no fixed size.
std::size_t item_bytes(ValueType type) {
  switch (type) {
    case ValueType::kUInt8:
    case ValueType::kInt8:
    case ValueType::kBool:
      return 1;
    case ValueType::kUInt16:
    case ValueType::kInt16:
      return 2;
    case ValueType::kUInt32:
    case ValueType::kInt32:
    case ValueType::kFloat32:
      return 4;
    case ValueType::kUInt64:
    case ValueType::kInt64:
    case ValueType::kFloat64:
      return 8;
    default:
      return 0;
  }
}

template <typename T>
T load(std::span<const std::byte> bytes, std::uint64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

bool is_integer_type(ValueType type) {
  return type != ValueType::kFloat32 && type != ValueType::kFloat64 && type != ValueType::kBool &&
         type != ValueType::kString;
}

// nullopt when it does not fit.
std::optional<std::int64_t> integer_at(const Value& value, std::uint64_t i) {
  switch (value.type) {
    case ValueType::kUInt8:
      return load<std::uint8_t>(value.bytes, i);
    case ValueType::kInt8:
      return load<std::int8_t>(value.bytes, i);
    case ValueType::kUInt16:
      return load<std::uint16_t>(value.bytes, i);
    case ValueType::kInt16:
      return load<std::int16_t>(value.bytes, i);
    case ValueType::kUInt32:
      return load<std::uint32_t>(value.bytes, i);
    case ValueType::kInt32:
      return load<std::int32_t>(value.bytes, i);
    case ValueType::kInt64:
      return load<std::int64_t>(value.bytes, i);
    case ValueType::kUInt64: {
      const auto wide = load<std::uint64_t>(value.bytes, i);
      if (wide > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return std::nullopt;
      return static_cast<std::int64_t>(wide);
    }
    default:
      return std::nullopt;
  }
}

Result<ValueType> read_type(ByteReader& reader) {
  ANEMONE_ASSIGN_OR_RETURN(const auto number, reader.read<std::uint32_t>());
  if (number > static_cast<std::uint32_t>(ValueType::kFloat64))
    return corrupt("[{}] expected a value type from 0 to 12, got {}", reader.subject(), number);
  return static_cast<ValueType>(number);
}

Result<Value> read_value(ByteReader& reader, std::span<const std::byte> file) {
  Value value;
  ANEMONE_ASSIGN_OR_RETURN(value.type, read_type(reader));
  if (value.type == ValueType::kArray) {
    value.is_array = true;
    ANEMONE_ASSIGN_OR_RETURN(value.type, read_type(reader));
    if (value.type == ValueType::kArray)
      return unsupported("[{}] expected an array of plain values, got an array of arrays",
                         reader.subject());
    ANEMONE_ASSIGN_OR_RETURN(value.count, reader.read<std::uint64_t>());
  }
  const std::size_t begin = reader.offset();
  const std::size_t size = item_bytes(value.type);
  if (size != 0) {
    if (value.count > reader.remaining() / size) {
      reader.mark_ran_out();
      return corrupt("[{}] expected {} items of {} bytes in the file, got {} bytes",
                     reader.subject(), value.count, size, reader.remaining());
    }
    ANEMONE_RETURN_IF_ERROR(reader.take(value.count * size).status());
  } else {
    // Each string takes eight bytes at least, so a false count ends at the end of the file.
    for (std::uint64_t i = 0; i < value.count; ++i)
      ANEMONE_RETURN_IF_ERROR(read_string(reader).status());
  }
  value.bytes = file.subspan(begin, reader.offset() - begin);
  return value;
}

Status wrong_kind(const std::string& subject, std::string_view key, std::string_view wanted,
                  const Value& value) {
  return parse_error("[{}] expected {} to be {}, got {}", subject, key, wanted,
                     Metadata::describe(value));
}

}  // namespace

Result<std::string_view> read_string(ByteReader& reader) {
  ANEMONE_ASSIGN_OR_RETURN(const auto size, reader.read<std::uint64_t>());
  return reader.take_text(size);
}

Result<Metadata> Metadata::read(ByteReader& reader, std::uint64_t count,
                                const std::string& subject) {
  // A pair takes at least a length, a type and a byte.
  constexpr std::uint64_t kLeastPair = 13;
  if (count > reader.remaining() / kLeastPair) {
    reader.mark_ran_out();
    return corrupt("[{}] expected at most {} metadata values in the file, got {}", subject,
                   reader.remaining() / kLeastPair, count);
  }
  Metadata metadata;
  metadata.subject_ = subject;
  const std::span<const std::byte> file = reader.bytes();
  for (std::uint64_t i = 0; i < count; ++i) {
    ANEMONE_ASSIGN_OR_RETURN(const std::string_view key, read_string(reader));
    auto value = read_value(reader, file);
    if (!value.ok()) return value.status().with(fmt::format("metadata {}", key));
    if (!metadata.values_.emplace(key, *value).second)
      return corrupt("[{}] expected each metadata key once, got {} twice", subject, key);
  }
  return metadata;
}

const Value* Metadata::find(std::string_view key) const {
  const auto it = values_.find(key);
  return it == values_.end() ? nullptr : &it->second;
}

Result<std::optional<std::int64_t>> Metadata::integer(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::optional<std::int64_t>();
  std::optional<std::int64_t> out;
  if (!value->is_array) out = integer_at(*value, 0);
  if (!out) return wrong_kind(subject_, key, "an integer", *value);
  return out;
}

Result<std::optional<double>> Metadata::number(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::optional<double>();
  std::optional<double> out;
  if (!value->is_array) {
    if (value->type == ValueType::kFloat32) {
      // The shortest decimal that gives this float: 1e-3 instead of 0.0010000000474974513, which is
      // what the number was before it was written.
      out = std::stod(fmt::format("{}", load<float>(value->bytes, 0)));
    } else if (value->type == ValueType::kFloat64) {
      out = load<double>(value->bytes, 0);
    } else if (const auto whole = integer_at(*value, 0)) {
      out = static_cast<double>(*whole);
    }
  }
  if (!out || !std::isfinite(*out)) return wrong_kind(subject_, key, "a finite number", *value);
  return out;
}

Result<std::optional<bool>> Metadata::boolean(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::optional<bool>();
  if (value->is_array || value->type != ValueType::kBool)
    return wrong_kind(subject_, key, "true or false", *value);
  return std::optional(load<std::uint8_t>(value->bytes, 0) != 0);
}

Result<std::optional<std::string_view>> Metadata::text(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::optional<std::string_view>();
  if (value->is_array || value->type != ValueType::kString)
    return wrong_kind(subject_, key, "a string", *value);
  ByteReader reader(value->bytes, subject_);
  ANEMONE_ASSIGN_OR_RETURN(const std::string_view text, read_string(reader));
  return std::optional(text);
}

Result<std::optional<std::vector<std::string_view>>> Metadata::texts(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::optional<std::vector<std::string_view>>();
  if (!value->is_array || value->type != ValueType::kString)
    return wrong_kind(subject_, key, "an array of strings", *value);
  std::vector<std::string_view> out;
  out.reserve(static_cast<std::size_t>(value->count));
  ByteReader reader(value->bytes, subject_);
  for (std::uint64_t i = 0; i < value->count; ++i) {
    ANEMONE_ASSIGN_OR_RETURN(const std::string_view text, read_string(reader));
    out.push_back(text);
  }
  return std::optional(std::move(out));
}

Result<std::optional<std::vector<std::int64_t>>> Metadata::integers(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::optional<std::vector<std::int64_t>>();
  if (!value->is_array || !is_integer_type(value->type))
    return wrong_kind(subject_, key, "an array of integers", *value);
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(value->count));
  for (std::uint64_t i = 0; i < value->count; ++i) {
    const auto item = integer_at(*value, i);
    if (!item) return wrong_kind(subject_, key, "an array of 64-bit signed integers", *value);
    out.push_back(*item);
  }
  return std::optional(std::move(out));
}

Result<std::optional<std::vector<bool>>> Metadata::booleans(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::optional<std::vector<bool>>();
  if (!value->is_array || value->type != ValueType::kBool)
    return wrong_kind(subject_, key, "an array of booleans", *value);
  std::vector<bool> out;
  for (std::uint64_t i = 0; i < value->count; ++i)
    out.push_back(load<std::uint8_t>(value->bytes, i) != 0);
  return std::optional(std::move(out));
}

Result<std::optional<std::vector<float>>> Metadata::floats(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::optional<std::vector<float>>();
  if (!value->is_array || value->type != ValueType::kFloat32)
    return wrong_kind(subject_, key, "an array of 32-bit floats", *value);
  std::vector<float> out(static_cast<std::size_t>(value->count));
  if (!out.empty()) std::memcpy(out.data(), value->bytes.data(), value->bytes.size());
  return std::optional(std::move(out));
}

std::string Metadata::describe(const Value& value) {
  constexpr std::size_t kLongest = 60;
  if (value.is_array)
    return fmt::format("[{} {}]", value.count,
                       value.type == ValueType::kString ? "strings"
                       : is_integer_type(value.type)    ? "integers"
                       : value.type == ValueType::kBool ? "booleans"
                                                        : "floats");
  switch (value.type) {
    case ValueType::kFloat32:
      return fmt::format("{}", load<float>(value.bytes, 0));
    case ValueType::kFloat64:
      return fmt::format("{}", load<double>(value.bytes, 0));
    case ValueType::kBool:
      return load<std::uint8_t>(value.bytes, 0) != 0 ? "true" : "false";
    case ValueType::kUInt64:
      return fmt::format("{}", load<std::uint64_t>(value.bytes, 0));
    case ValueType::kString: {
      ByteReader reader(value.bytes, "");
      const auto text = read_string(reader);
      if (!text.ok()) return "";
      if (text->size() <= kLongest) return std::string(*text);
      return fmt::format("{} ({} bytes)", shortened(*text, kLongest), text->size());
    }
    default:
      return fmt::format("{}", integer_at(value, 0).value_or(0));
  }
}

}  // namespace anemone::checkpoint::gguf
