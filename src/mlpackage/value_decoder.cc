// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <limits>
#include <simdjson.h>
#include <span>
#include <vector>

#include "base/error.h"
#include "mlpackage/proto/mil.pb.h"
#include "mlpackage/type_codec.h"
#include "mlpackage/value_codec.h"
#include "tensor/bits.h"

namespace anemone::mlpackage {
namespace {

Result<ir::Literal> decode(const wire::Value& value, const ir::Type* expected, BlobCache& blobs,
                           int depth);

Status wrong_count(DType dtype, std::uint64_t wanted, std::uint64_t got) {
  return corrupt("expected {} {} values, got {}", wanted, dtype_name(dtype), got);
}
Status wrong_field(DType dtype, std::string_view field) {
  return corrupt("expected {} values, got a field of {}", dtype_name(dtype), field);
}

template <typename T>
void copy_into(std::span<const T> values, Tensor& tensor) {
  if (!values.empty()) std::memcpy(tensor.mutable_data(), values.data(), values.size_bytes());
}

// Writers widen small integers; the range says whether they fit back.
template <typename Wide>
Result<Tensor> decode_integers(const ir::Type& type, std::span<const Wide> values) {
  const DType dtype = type.dtype;
  if (!is_integer(dtype)) return wrong_field(dtype, "integers");
  const int bits = dtype_bits(dtype);
  const bool is_signed = dtype == DType::kInt4 || dtype == DType::kInt8 || dtype == DType::kInt16 ||
                         dtype == DType::kInt32 || dtype == DType::kInt64;
  std::int64_t low = 0;
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
  if (is_signed) {
    high = bits == 64 ? high : (std::int64_t{1} << (bits - 1)) - 1;
    low = -high - 1;
  } else if (bits < 64) {
    high = (std::int64_t{1} << bits) - 1;
  } else {
    low = std::numeric_limits<std::int64_t>::min();  // uint64 travels as int64 with the same bits
  }
  for (const Wide value : values)
    if (value < low || value > high)
      return corrupt("expected values that fit {}, got {}", dtype_name(dtype), value);

  Tensor tensor(dtype, type.shape);
  if (is_sub_byte(dtype)) {
    std::vector<std::int32_t> narrow(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      narrow[i] = static_cast<std::int32_t>(values[i]);
    pack_bits(narrow, dtype, tensor.mutable_view().bytes());
    return tensor;
  }
  // Little-endian: the low bytes of a value are its first ones.
  const std::size_t size = static_cast<std::size_t>(bits) / 8;
  std::byte* out = tensor.mutable_data();
  for (const Wide value : values) {
    std::memcpy(out, &value, size);
    out += size;
  }
  return tensor;
}

Result<ir::Literal> decode_strings(const ir::Type& type, const wire::TensorValue& value,
                                   std::uint64_t elements) {
  if (value.value_case() != wire::TensorValue::kStrings &&
      !(elements == 0 && value.value_case() == wire::TensorValue::VALUE_NOT_SET))
    return corrupt("expected string values, got another field");
  const auto& texts = value.strings().values();
  if (static_cast<std::uint64_t>(texts.size()) != elements)
    return wrong_count(type.dtype, elements, static_cast<std::uint64_t>(texts.size()));
  ir::Literal::Strings strings;
  for (const std::string& text : texts) {
    if (!simdjson::validate_utf8(text))
      return corrupt("expected a string in UTF-8, got other bytes");
    strings.push_back(text);
  }
  return ir::Literal(type, std::move(strings));
}

Result<Tensor> decode_numbers(const ir::Type& type, const wire::TensorValue& value,
                              std::uint64_t elements) {
  const DType dtype = type.dtype;
  // Counts are checked before anything is allocated: a shape costs nothing to write.
  const auto check = [&](int count) -> Status {
    if (static_cast<std::uint64_t>(count) == elements) return {};
    return wrong_count(dtype, elements, static_cast<std::uint64_t>(count));
  };
  switch (value.value_case()) {
    case wire::TensorValue::kFloats: {
      ANEMONE_RETURN_IF_ERROR(check(value.floats().values_size()));
      if (dtype != DType::kFp32) return wrong_field(dtype, "fp32");
      Tensor tensor(dtype, type.shape);
      copy_into(std::span(value.floats().values().data(), elements), tensor);
      return tensor;
    }
    case wire::TensorValue::kDoubles: {
      ANEMONE_RETURN_IF_ERROR(check(value.doubles().values_size()));
      if (dtype != DType::kFp64) return wrong_field(dtype, "fp64");
      Tensor tensor(dtype, type.shape);
      copy_into(std::span(value.doubles().values().data(), elements), tensor);
      return tensor;
    }
    case wire::TensorValue::kBools: {
      ANEMONE_RETURN_IF_ERROR(check(value.bools().values_size()));
      if (dtype != DType::kBool) return wrong_field(dtype, "bool");
      Tensor tensor(dtype, type.shape);
      copy_into(std::span(value.bools().values().data(), elements), tensor);
      return tensor;
    }
    case wire::TensorValue::kInts: {
      ANEMONE_RETURN_IF_ERROR(check(value.ints().values_size()));
      return decode_integers(type, std::span(value.ints().values().data(), elements));
    }
    case wire::TensorValue::kLongInts: {
      ANEMONE_RETURN_IF_ERROR(check(value.long_ints().values_size()));
      return decode_integers(type, std::span(value.long_ints().values().data(), elements));
    }
    case wire::TensorValue::kBytesValues: {
      if (dtype == DType::kBool) return wrong_field(dtype, "bytes");
      const std::string& bytes = value.bytes_values().values();
      const std::uint64_t wanted = dtype_bytes(dtype, elements);
      if (bytes.size() != wanted)
        return corrupt("expected {} bytes for {} {} values, got {}", wanted, elements,
                       dtype_name(dtype), bytes.size());
      Tensor tensor(dtype, type.shape);
      copy_into(std::span(bytes.data(), bytes.size()), tensor);
      return tensor;
    }
    case wire::TensorValue::kStrings:
      return wrong_field(dtype, "strings");
    case wire::TensorValue::VALUE_NOT_SET:
      break;
  }
  ANEMONE_RETURN_IF_ERROR(check(0));
  return Tensor(dtype, type.shape);
}

Result<ir::Literal> decode_tensor(const wire::Value& value, const ir::Type& type,
                                  BlobCache& blobs) {
  // checked_element_count() also refuses unknown dimensions: a constant has none.
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t count, checked_element_count(type.shape));
  const auto elements = static_cast<std::uint64_t>(count);
  if (value.has_blob()) {
    const auto& blob = value.blob();
    ANEMONE_ASSIGN_OR_RETURN(auto data,
                             blobs.find(blob.file_name(), blob.offset(), type.dtype, elements));
    return ir::Literal(type, std::move(data));
  }
  if (!value.has_immediate() || !value.immediate().has_tensor())
    return corrupt("expected the values of a {}, got none", to_string(type));
  const wire::TensorValue& tensor = value.immediate().tensor();
  if (type.dtype == DType::kString) return decode_strings(type, tensor, elements);
  ANEMONE_ASSIGN_OR_RETURN(Tensor numbers, decode_numbers(type, tensor, elements));
  return ir::Literal(type, ir::owned_data(std::move(numbers)));
}

template <typename Values>
Result<ir::Literal> decode_items(const Values& values, ir::Type type, BlobCache& blobs, int depth) {
  ir::Literal::List items;
  const bool is_tuple = type.kind == ir::Type::Kind::kTuple;
  const auto count = static_cast<std::int64_t>(values.size());
  const std::int64_t wanted =
      is_tuple ? static_cast<std::int64_t>(type.members.size()) : type.length;
  if (wanted >= 0 && wanted != count)
    return corrupt("expected {} items in a {}, got {}", wanted, to_string(type), count);
  for (const wire::Value& value : values) {
    const ir::Type& member = type.members[is_tuple ? items.size() : 0];
    ANEMONE_ASSIGN_OR_RETURN(ir::Literal item, decode(value, &member, blobs, depth + 1));
    if (!is_compatible(member, item.type()))
      return corrupt("expected an item of type {}, got {}", to_string(member),
                     to_string(item.type()));
    items.push_back(std::move(item));
  }
  return ir::Literal(std::move(type), std::move(items));
}

Result<ir::Literal> decode_dictionary(const wire::DictionaryValue& values, ir::Type type,
                                      BlobCache& blobs, int depth) {
  ir::Literal::Dictionary entries;
  for (const auto& entry : values.values()) {
    ANEMONE_ASSIGN_OR_RETURN(ir::Literal key,
                             decode(entry.key(), &type.members[0], blobs, depth + 1));
    ANEMONE_ASSIGN_OR_RETURN(ir::Literal value,
                             decode(entry.value(), &type.members[1], blobs, depth + 1));
    if (!is_compatible(type.members[0], key.type()) ||
        !is_compatible(type.members[1], value.type()))
      return corrupt("expected an entry of a {}, got key {} and value {}", to_string(type),
                     to_string(key.type()), to_string(value.type()));
    entries.emplace_back(std::move(key), std::move(value));
  }
  return ir::Literal(std::move(type), std::move(entries));
}

Result<ir::Literal> decode(const wire::Value& value, const ir::Type* expected, BlobCache& blobs,
                           int depth) {
  if (depth >= kMaxTypeDepth)
    return corrupt("expected values nested at most {} deep, got more", kMaxTypeDepth);
  ir::Type type;
  if (!value.has_type() && expected != nullptr) {
    type = *expected;  // some writers leave the type of list items to the list
  } else {
    ANEMONE_ASSIGN_OR_RETURN(type, decode_type(value.type(), depth));
  }
  switch (type.kind) {
    case ir::Type::Kind::kTensor:
      return decode_tensor(value, type, blobs);
    case ir::Type::Kind::kList:
      if (value.has_immediate() && value.immediate().has_list())
        return decode_items(value.immediate().list().values(), std::move(type), blobs, depth);
      break;
    case ir::Type::Kind::kTuple:
      if (value.has_immediate() && value.immediate().has_tuple())
        return decode_items(value.immediate().tuple().values(), std::move(type), blobs, depth);
      break;
    case ir::Type::Kind::kDictionary:
      if (value.has_immediate() && value.immediate().has_dictionary())
        return decode_dictionary(value.immediate().dictionary(), std::move(type), blobs, depth);
      break;
    case ir::Type::Kind::kState:
      break;
  }
  return corrupt("expected a constant of type {}, got no such value", to_string(type));
}

}  // namespace

Result<ir::Literal> decode_value(const wire::Value& value, BlobCache& blobs) {
  return decode(value, nullptr, blobs, 0);
}

}  // namespace anemone::mlpackage
