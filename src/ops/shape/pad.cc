// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

// One axis of `dim` elements with `before` and `after` new ones.
Result<std::int64_t> padded(std::int64_t dim, std::int64_t before, std::int64_t after,
                            std::string_view mode) {
  if (before < 0 || after < 0)
    return ir::violated("pad_c3", "expected pads of at least 0, got {} and {}", before, after);
  if (dim == kDynamic) return kDynamic;
  const std::int64_t widest = std::max(before, after);
  // A reflection shows each element but the border once; a replica needs a border.
  if (mode == "reflect" && widest > 0 && widest >= dim)
    return ir::violated("pad_c4", "expected pads below the {} elements that they reflect, got {}",
                        dim, widest);
  if (mode == "replicate" && widest > 0 && dim == 0)
    return ir::violated("pad_c4", "expected an element to replicate, got none");
  if (dim > kMaxElements) return ir::violated("pad_c5", "expected at most 2^40 elements");
  return dim + before + after;  // pads are int32
}

Status infer_pad(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(check_vector(context, "pad", kDynamic, "pad_c1"));
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"constant_val"}, "pad_c1"));
  std::string_view mode = "constant";
  if (context.has("mode")) mode = context.text("mode").value_or("");
  if (mode != "constant" && mode != "reflect" && mode != "replicate")
    return ir::violated("pad_c2", "expected the mode constant, reflect or replicate, got \"{}\"",
                        mode);
  const ir::Type& x = context.type("x");
  const auto pads = context.ints("pad");
  const std::int64_t length =
      pads ? static_cast<std::int64_t>(pads->size()) : context.type("pad").shape[0];
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  if (length != kDynamic && (length % 2 != 0 || length > 2 * rank))
    return ir::violated("pad_c1",
                        "expected two pads for some of the last of {} axes, got {} numbers", rank,
                        length);
  Shape shape = x.shape;
  // Any axis may grow when the length of pad is not known.
  const std::int64_t axes = length == kDynamic ? rank : length / 2;
  for (std::int64_t i = 0; i < axes; ++i) {
    std::int64_t& dim = shape[static_cast<std::size_t>(rank - axes + i)];
    if (!pads) {
      dim = kDynamic;
      continue;
    }
    const auto first = static_cast<std::size_t>(2 * i);
    ANEMONE_ASSIGN_OR_RETURN(dim, padded(dim, (*pads)[first], (*pads)[first + 1], mode));
  }
  return add_output(outputs, "pad_c5", x.dtype, std::move(shape));
}

}  // namespace

ir::OpSchema pad_schema() {
  using ir::InferContext;
  constexpr auto kDefaulted = ir::Parameter::Presence::kDefaulted;
  return {.name = "pad",
          .parameters =
              {{.name = "x", .dtypes = kFloats},
               {.name = "pad", .dtypes = kInt32},
               {.name = "mode",
                .dtypes = kText,
                .presence = kDefaulted,
                .is_const = true,
                .default_value = [](const InferContext&) { return ir::Literal::text("constant"); }},
               // Converters write the default as fp32 beside an fp16 x: the dtypes are not tied.
               {.name = "constant_val",
                .dtypes = kFloats,
                .presence = kDefaulted,
                .is_const = true,
                .default_value =
                    [](const InferContext& context) {
                      return ir::Literal::number(0, context.type("x").dtype);
                    }}},
          .infer = infer_pad};
}

}  // namespace anemone::ops
