// SPDX-License-Identifier: Apache-2.0
// depth_to_space, space_to_depth, pixel_shuffle and pixel_unshuffle: blocks of the spatial axes of
// [n, c, h, w] become channels or the other way round. Errors carry `<op>_c1` (rank), `<op>_c2`
// (the factor) and `<op>_c3` (what the factor must divide).
#include <string>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

// Squares of factors up to this fit easily, and no axis is as long.
constexpr std::int64_t kMaxFactor = std::int64_t{1} << 20;

struct BlockRule {
  std::string op;
  std::string_view factor;
  bool is_to_channels;

  Status operator()(const ir::InferContext& context, std::vector<ir::Type>& outputs) const {
    const ir::Type& x = context.type("x");
    if (x.shape.size() != 4)
      return ir::violated(op + "_c1", "expected x of rank 4, got {}", to_string(x.shape));
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t f,
                             integer_parameter(context, factor, 1, 1, op + "_c2"));
    if (f > kMaxFactor)
      return ir::violated(op + "_c2", "expected {} of at most 2^20, got {}", factor, f);
    const auto more = is_to_channels ? scaled_dim : divided_dim;
    const auto less = is_to_channels ? divided_dim : scaled_dim;
    Shape out = x.shape;
    ANEMONE_ASSIGN_OR_RETURN(out[1], more(x.shape[1], f * f, op + "_c3"));
    ANEMONE_ASSIGN_OR_RETURN(out[2], less(x.shape[2], f, op + "_c3"));
    ANEMONE_ASSIGN_OR_RETURN(out[3], less(x.shape[3], f, op + "_c3"));
    return add_output(outputs, op + "_c3", x.dtype, std::move(out));
  }
};

ir::OpSchema block_schema(std::string_view name, std::string_view factor, bool is_to_channels) {
  // pixel_unshuffle is the one whose factor is unsigned.
  const ir::DTypeSet dtypes{name == "pixel_unshuffle" ? DType::kUInt32 : DType::kInt32};
  ir::OpSchema schema;
  schema.name = name;
  schema.parameters = {operand("x", kFloats), constant(factor, dtypes)};
  schema.infer = BlockRule{std::string(name), factor, is_to_channels};
  return schema;
}

ir::OpSchema channels_to_blocks_schema(std::string_view name, std::string_view factor) {
  return block_schema(name, factor, false);
}

ir::OpSchema blocks_to_channels_schema(std::string_view name, std::string_view factor) {
  return block_schema(name, factor, true);
}

ir::OpSchema depth_to_space_schema() {
  return channels_to_blocks_schema("depth_to_space", "block_size");
}

ir::OpSchema pixel_shuffle_schema() {
  return channels_to_blocks_schema("pixel_shuffle", "upscale_factor");
}

ir::OpSchema pixel_unshuffle_schema() {
  ir::OpSchema schema = blocks_to_channels_schema("pixel_unshuffle", "downscale_factor");
  schema.since = ir::Opset::kIOS16;
  return schema;
}

ir::OpSchema space_to_depth_schema() {
  return blocks_to_channels_schema("space_to_depth", "block_size");
}

}  // namespace

std::vector<ir::OpSchema> block_schemas() {
  return {depth_to_space_schema(), pixel_shuffle_schema(), pixel_unshuffle_schema(),
          space_to_depth_schema()};
}

}  // namespace anemone::ops
