// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "ops/common/infer.h"
#include "ops/constexpr/constexpr.h"

namespace anemone::ops {
namespace {

// Every dimension of `blocks` divides the one of `shape` that it stands for.
bool divides(const Shape& blocks, const Shape& shape) {
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] < 0 || blocks[i] < 1 || shape[i] % blocks[i] != 0) return false;
  return true;
}

}  // namespace

Status check_shift_scale(const ir::InferContext& context, std::string_view op, const Shape& data,
                         DType dtype) {
  const std::string name(op);
  const Shape& scale = context.type("scale").shape;
  if (data.empty() || scale.size() != data.size())
    return ir::violated(name + "_c1",
                        "expected data and scale of the same rank 1 or more, got {} and {}",
                        to_string(data), to_string(scale));
  if (!divides(scale, data))
    return ir::violated(name + "_c2", "expected scales that cut {} into equal blocks, got {}",
                        to_string(data), to_string(scale));
  if (!context.has("offset")) return {};
  const ir::Type& offset = context.type("offset");
  if (offset.shape != scale)
    return ir::violated(name + "_c3", "expected an offset of {} as the scale, got {}",
                        to_string(scale), to_string(offset.shape));
  if (!is_float(offset.dtype) && offset.dtype != dtype)
    return ir::violated(name + "_c4", "expected an offset of {} as the data, or a float, got {}",
                        dtype_name(dtype), dtype_name(offset.dtype));
  return {};
}

Result<Shape> check_lut(const ir::InferContext& context, std::string_view op, const Shape& indices,
                        DType dtype) {
  const std::string name(op);
  const Shape& lut = context.type("lut").shape;
  const std::size_t rank = indices.size();
  if (rank == 0 || lut.size() != rank + 2)
    return ir::violated(name + "_c1",
                        "expected a lut with two dimensions more than the indices, got {} for {}",
                        to_string(lut), to_string(indices));
  if (!divides(Shape(lut.begin(), lut.end() - 2), indices))
    return ir::violated(name + "_c2", "expected tables that cut {} into equal groups, got {}",
                        to_string(indices), to_string(lut));
  if (lut[rank] != std::int64_t{1} << dtype_bits(dtype))
    return ir::violated(name + "_c3", "expected {} entries in a table for {} indices, got {}",
                        std::int64_t{1} << dtype_bits(dtype), dtype_name(dtype), lut[rank]);
  const std::int64_t vector = lut[rank + 1];
  if (vector < 1)
    return ir::violated(name + "_c4", "expected entries of at least one element, got {}",
                        to_string(lut));
  if (!context.has("vector_axis")) {
    if (vector > 1)
      return ir::violated(name + "_c4", "expected a vector_axis for entries of {} elements",
                          vector);
    return indices;
  }
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t axis,
                           axis_parameter(context, "vector_axis", 0, rank, name + "_c4"));
  Shape out = indices;
  if (out[axis] > kMaxElements / vector)
    return ir::violated(name + "_c4", "the output is too large: {} with entries of {} elements",
                        to_string(indices), vector);
  out[axis] *= vector;
  return out;
}

Result<Shape> packed_shape(const ir::InferContext& context, const Shape& bytes, int bits,
                           std::string_view constraint) {
  ANEMONE_RETURN_IF_ERROR(check_vector(context, "shape", kDynamic, constraint));
  const auto shape = context.ints("shape");
  if (!shape) return ir::violated(constraint, "expected a known shape");
  const auto count = checked_element_count(*shape);
  if (!count.ok() || *count > kMaxElements)
    return ir::violated(constraint, "expected a lawful shape, got {}", to_string(*shape));
  const std::int64_t want = (*count * bits + 7) / 8;
  if (bytes.size() != 1 || bytes[0] != want)
    return ir::violated(constraint, "expected {} bytes for {} elements of {} bits, got {}", want,
                        *count, bits, to_string(bytes));
  return *shape;
}

}  // namespace anemone::ops
