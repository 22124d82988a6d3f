// SPDX-License-Identifier: Apache-2.0
#include "mlpackage/type_codec.h"

#include "base/error.h"
#include "mlpackage/dtype_codes.h"
#include "mlpackage/proto/mil.pb.h"

namespace anemone::mlpackage {
namespace {

// The limit of tensor/shape.h, far above any tensor of a model: a file with a larger one is
// damaged.
constexpr std::uint64_t kMaxDimension = 1ULL << 48;

Result<std::int64_t> decode_dimension(const wire::Dimension& dimension) {
  switch (dimension.dimension_case()) {
    case wire::Dimension::kConstant:
      if (dimension.constant().size() > kMaxDimension)
        return corrupt("expected a dimension of at most {}, got {}", kMaxDimension,
                       dimension.constant().size());
      return static_cast<std::int64_t>(dimension.constant().size());
    case wire::Dimension::kUnknown:
      if (dimension.unknown().variadic())
        return unsupported("expected a fixed number of dimensions, got a variadic one");
      return kDynamic;
    case wire::Dimension::DIMENSION_NOT_SET:
      break;
  }
  return corrupt("expected a dimension to be a number or unknown, got neither");
}

Result<ir::Type> decode_tensor(const wire::TensorType& tensor) {
  const auto dtype = dtype_of_mil_code(tensor.data_type());
  if (!dtype) return unsupported("expected a known element type, got code {}", tensor.data_type());
  if (tensor.rank() < 0) return unsupported("expected a fixed rank, got a variable one");
  if (tensor.rank() != tensor.dimensions_size())
    return corrupt("expected {} dimensions for rank {}, got {}", tensor.rank(), tensor.rank(),
                   tensor.dimensions_size());
  if (tensor.attributes_size() > 0)
    return unsupported("expected a tensor type without attributes, got {}",
                       tensor.attributes_size());
  Shape shape;
  for (const wire::Dimension& dimension : tensor.dimensions()) {
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t size, decode_dimension(dimension));
    shape.push_back(size);
  }
  return ir::Type::tensor(*dtype, std::move(shape));
}

void encode_dimension(std::int64_t size, wire::Dimension& out) {
  if (size == kDynamic) {
    out.mutable_unknown()->set_variadic(false);
  } else {
    out.mutable_constant()->set_size(static_cast<std::uint64_t>(size));
  }
}

void encode_tensor(const ir::Type& type, wire::TensorType& out) {
  out.set_data_type(mil_code(type.dtype));
  out.set_rank(static_cast<std::int64_t>(type.shape.size()));
  for (const std::int64_t size : type.shape) encode_dimension(size, *out.add_dimensions());
}

}  // namespace

Result<ir::Type> decode_type(const wire::ValueType& type, int depth) {
  if (depth >= kMaxTypeDepth)
    return corrupt("expected types nested at most {} deep, got more", kMaxTypeDepth);
  switch (type.type_case()) {
    case wire::ValueType::kTensorType:
      return decode_tensor(type.tensor_type());
    case wire::ValueType::kListType: {
      ANEMONE_ASSIGN_OR_RETURN(ir::Type element, decode_type(type.list_type().type(), depth + 1));
      std::int64_t length = kDynamic;
      if (type.list_type().has_length()) {
        ANEMONE_ASSIGN_OR_RETURN(length, decode_dimension(type.list_type().length()));
      }
      return ir::Type::list(std::move(element), length);
    }
    case wire::ValueType::kTupleType: {
      ir::Type tuple;
      tuple.kind = ir::Type::Kind::kTuple;
      for (const wire::ValueType& member : type.tuple_type().types()) {
        ANEMONE_ASSIGN_OR_RETURN(ir::Type part, decode_type(member, depth + 1));
        tuple.members.push_back(std::move(part));
      }
      return tuple;
    }
    case wire::ValueType::kDictionaryType: {
      const wire::DictionaryType& dictionary = type.dictionary_type();
      ANEMONE_ASSIGN_OR_RETURN(ir::Type key, decode_type(dictionary.key_type(), depth + 1));
      ANEMONE_ASSIGN_OR_RETURN(ir::Type value, decode_type(dictionary.value_type(), depth + 1));
      return ir::Type::dictionary(std::move(key), std::move(value));
    }
    case wire::ValueType::kStateType: {
      ANEMONE_ASSIGN_OR_RETURN(const ir::Type wrapped,
                               decode_type(type.state_type().wrapped_type(), depth + 1));
      if (!wrapped.is_tensor())
        return corrupt("expected a state to wrap a tensor, got {}", to_string(wrapped));
      return ir::Type::state(wrapped.dtype, wrapped.shape);
    }
    case wire::ValueType::TYPE_NOT_SET:
      break;
  }
  return corrupt("expected a type, got none");
}

void encode_type(const ir::Type& type, wire::ValueType& out) {
  switch (type.kind) {
    case ir::Type::Kind::kTensor:
      encode_tensor(type, *out.mutable_tensor_type());
      return;
    case ir::Type::Kind::kList:
      encode_type(type.members.at(0), *out.mutable_list_type()->mutable_type());
      encode_dimension(type.length, *out.mutable_list_type()->mutable_length());
      return;
    case ir::Type::Kind::kTuple:
      out.mutable_tuple_type();
      for (const ir::Type& member : type.members)
        encode_type(member, *out.mutable_tuple_type()->add_types());
      return;
    case ir::Type::Kind::kDictionary:
      encode_type(type.members.at(0), *out.mutable_dictionary_type()->mutable_key_type());
      encode_type(type.members.at(1), *out.mutable_dictionary_type()->mutable_value_type());
      return;
    case ir::Type::Kind::kState:
      encode_tensor(type, *out.mutable_state_type()->mutable_wrapped_type()->mutable_tensor_type());
      return;
  }
}

}  // namespace anemone::mlpackage
