// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

// squeeze removes dimensions of size 1: those that `axes` lists, or all of them if it is absent.
// Only declared sizes decide, never the sizes of a run. A dimension whose declared size is 1 goes,
// one with another declared size stays. One of unknown size stays if `axes` is absent. If `axes`
// lists it, the sources disagree: coremltools keeps it, and the documented rank of the output
// counts it as removed. The declared rank of the output then decides; if there is none yet, it
// stays.
Status infer_squeeze(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(
      check_dtypes_before(context, ir::Opset::kIOS17, {"x"}, kFloatsInt32Bool, "squeeze_c1"));
  const ir::Type& x = context.type("x");
  const Shape& known = context.declared_type("x").shape;
  const std::size_t rank = x.shape.size();
  std::vector<bool> is_named(rank, true);
  if (context.has("axes")) {
    ANEMONE_RETURN_IF_ERROR(check_vector(context, "axes", kDynamic, "squeeze_c2"));
    const auto axes = context.ints("axes");
    if (!axes) return ir::violated("squeeze_c2", "expected known axes");
    ANEMONE_ASSIGN_OR_RETURN(is_named, checked_axes(*axes, rank, "squeeze_c3"));
  }
  std::size_t least = rank;  // the rank if axes of unknown sizes are dropped
  std::size_t most = rank;
  for (std::size_t i = 0; i < rank; ++i) {
    if (!is_named[i]) continue;
    if (known[i] == 1) --most;
    if (known[i] == 1 || known[i] == kDynamic) --least;
  }
  const ir::Type* declared = context.output_count() > 0 ? context.declared_output(0) : nullptr;
  const bool drops_open =
      context.has("axes") && declared != nullptr && declared->shape.size() != most;
  if (declared != nullptr && declared->shape.size() != (drops_open ? least : most))
    return ir::violated("squeeze_c2", "expected an output of rank {}, got {} for {}",
                        drops_open ? least : most, to_string(declared->shape), to_string(x.shape));
  Shape shape;
  for (std::size_t i = 0; i < rank; ++i) {
    if (!is_named[i] || (known[i] != 1 && !(drops_open && known[i] == kDynamic)))
      shape.push_back(x.shape[i]);
    else if (x.shape[i] != 1 && x.shape[i] != kDynamic)
      return ir::violated("squeeze_c4", "expected dimension {} of x to be 1, got {}", i,
                          x.shape[i]);
  }
  return add_output(outputs, "squeeze_c3", x.dtype, std::move(shape));
}

}  // namespace

ir::OpSchema squeeze_schema() {
  return {.name = "squeeze",
          .parameters = {{.name = "x", .dtypes = kAny},
                         {.name = "axes",
                          .dtypes = kInt32,
                          .presence = ir::Parameter::Presence::kOptional,
                          .is_const = true}},
          .infer = infer_squeeze};
}

}  // namespace anemone::ops
