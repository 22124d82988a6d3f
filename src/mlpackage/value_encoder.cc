// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "base/error.h"
#include "mlpackage/proto/mil.pb.h"
#include "mlpackage/type_codec.h"
#include "mlpackage/value_codec.h"

namespace anemone::mlpackage {
namespace {

constexpr char kWeightFile[] = "@model_path/weights/weight.bin";

template <typename T, typename Field>
void add_all(const TensorView& view, Field& field) {
  for (const T value : view.as<T>()) field.add_values(value);
}

// Writes the numbers into the field that Core ML's parser reads for their dtype; an empty tensor
// still names the field.
void encode_numbers(const TensorView& view, wire::TensorValue& out) {
  switch (view.dtype) {
    case DType::kBool:
      // The values are read as bytes: a bool that is neither 0 nor 1 would be undefined behaviour.
      for (const std::byte value : view.bytes())
        out.mutable_bools()->add_values(value != std::byte{0});
      out.mutable_bools();
      return;
    case DType::kFp32:
      add_all<float>(view, *out.mutable_floats());
      return;
    case DType::kFp64:
      add_all<double>(view, *out.mutable_doubles());
      return;
    case DType::kInt16:
      add_all<std::int16_t>(view, *out.mutable_ints());
      return;
    case DType::kUInt16:
      add_all<std::uint16_t>(view, *out.mutable_ints());
      return;
    case DType::kInt32:
      add_all<std::int32_t>(view, *out.mutable_ints());
      return;
    case DType::kInt64:
      add_all<std::int64_t>(view, *out.mutable_long_ints());
      return;
    case DType::kUInt64:
      for (const std::uint64_t value : view.as<std::uint64_t>())
        out.mutable_long_ints()->add_values(static_cast<std::int64_t>(value));
      out.mutable_long_ints();
      return;
    default: {
      const auto bytes = view.bytes();
      out.mutable_bytes_values()->set_values(bytes.data(), bytes.size());
      return;
    }
  }
}

Status encode(const ir::Literal& literal, const BlobOffset& blob_offset, wire::Value& out,
              int depth) {
  const ir::Type& type = literal.type();
  if (depth >= kMaxTypeDepth)
    return unsupported("expected values nested at most {} deep, got more", kMaxTypeDepth);
  encode_type(type, *out.mutable_type());
  switch (type.kind) {
    case ir::Type::Kind::kTensor: {
      ANEMONE_ASSIGN_OR_RETURN(const std::int64_t elements, checked_element_count(type.shape));
      if (type.dtype == DType::kString) {
        if (static_cast<std::int64_t>(literal.strings().size()) != elements)
          return internal_error("expected {} strings, got {}", elements, literal.strings().size());
        auto* strings = out.mutable_immediate()->mutable_tensor()->mutable_strings();
        for (const std::string& text : literal.strings()) strings->add_values(text);
        return {};
      }
      if (const auto offset = blob_offset(literal)) {
        out.mutable_blob()->set_file_name(kWeightFile);
        out.mutable_blob()->set_offset(*offset);
        return {};
      }
      ANEMONE_ASSIGN_OR_RETURN(const ir::DataBytes data, literal.data()->load());
      const std::uint64_t wanted = dtype_bytes(type.dtype, static_cast<std::uint64_t>(elements));
      if (data.bytes.size() != wanted)
        return internal_error("expected {} bytes for a {}, got {}", wanted, to_string(type),
                              data.bytes.size());
      encode_numbers({type.dtype, type.shape, data.bytes.data()},
                     *out.mutable_immediate()->mutable_tensor());
      return {};
    }
    case ir::Type::Kind::kList: {
      auto* list = out.mutable_immediate()->mutable_list();
      for (const ir::Literal& item : literal.items())
        ANEMONE_RETURN_IF_ERROR(encode(item, blob_offset, *list->add_values(), depth + 1));
      return {};
    }
    case ir::Type::Kind::kTuple: {
      auto* tuple = out.mutable_immediate()->mutable_tuple();
      for (const ir::Literal& item : literal.items())
        ANEMONE_RETURN_IF_ERROR(encode(item, blob_offset, *tuple->add_values(), depth + 1));
      return {};
    }
    case ir::Type::Kind::kDictionary: {
      auto* dictionary = out.mutable_immediate()->mutable_dictionary();
      for (const auto& [key, value] : literal.entries()) {
        auto* entry = dictionary->add_values();
        ANEMONE_RETURN_IF_ERROR(encode(key, blob_offset, *entry->mutable_key(), depth + 1));
        ANEMONE_RETURN_IF_ERROR(encode(value, blob_offset, *entry->mutable_value(), depth + 1));
      }
      return {};
    }
    case ir::Type::Kind::kState:
      break;
  }
  return internal_error("a {} cannot be a constant", to_string(type));
}

}  // namespace

Status encode_value(const ir::Literal& literal, const BlobOffset& blob_offset, wire::Value& out) {
  return encode(literal, blob_offset, out, 0);
}

}  // namespace anemone::mlpackage
