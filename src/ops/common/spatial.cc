// SPDX-License-Identifier: Apache-2.0
#include "ops/common/spatial.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace anemone::ops {
namespace {

using Ints = std::vector<std::int64_t>;

// One value of at least `least` for each axis; `fallback` when the parameter is absent, nullopt
// when its value is not known.
Result<std::optional<Ints>> read_axes(const ir::InferContext& context, std::string_view name,
                                      std::size_t count, std::int64_t least,
                                      const std::string& constraint) {
  if (!context.has(name)) return std::optional<Ints>(Ints(count, least));
  const ir::Type& type = context.type(name);
  if (type.shape.size() != 1 ||
      (type.shape[0] != kDynamic && type.shape[0] != static_cast<std::int64_t>(count)))
    return ir::violated(constraint, "expected {} of [{}], got {}", name, count,
                        to_string(type.shape));
  std::optional<Ints> values = context.ints(name);
  if (values && std::any_of(values->begin(), values->end(), [&](auto v) { return v < least; }))
    return ir::violated(constraint, "expected {} of at least {}", name, least);
  return values;
}

}  // namespace

Result<std::optional<Window>> read_window(const ir::InferContext& context, std::string_view op,
                                          std::vector<std::int64_t> kernel) {
  const std::size_t spatial = kernel.size();
  const std::string name(op);
  ANEMONE_ASSIGN_OR_RETURN(auto strides, read_axes(context, "strides", spatial, 1, name + "_c5"));
  ANEMONE_ASSIGN_OR_RETURN(auto dilations,
                           read_axes(context, "dilations", spatial, 1, name + "_c5"));
  ANEMONE_ASSIGN_OR_RETURN(auto pad, read_axes(context, "pad", 2 * spatial, 0, name + "_c7"));
  std::string_view pad_type = "valid";
  if (context.has("pad_type")) {
    const auto text = context.text("pad_type");
    if (!text) return std::optional<Window>();
    pad_type = *text;
  }
  if (pad_type != "valid" && pad_type != "custom" && pad_type != "same" && pad_type != "same_lower")
    return ir::violated(name + "_c6",
                        "expected a pad_type of valid, custom, same or same_lower, got \"{}\"",
                        pad_type);
  if (pad_type == "same_lower" && context.opset() < ir::Opset::kIOS16)
    return ir::violated(name + "_c6", "pad_type same_lower exists from ios16 on");
  if (!strides || !dilations || (pad_type == "custom" && !pad)) return std::optional<Window>();
  Window window{std::move(kernel), std::move(*strides), std::move(*dilations), Ints(2 * spatial, 0),
                pad_type.starts_with("same")};
  if (pad_type == "custom") window.pad = std::move(*pad);
  return std::optional<Window>(std::move(window));
}

std::int64_t window_count(const Window& window, std::size_t i, std::int64_t in) {
  if (in == kDynamic) return kDynamic;
  const std::int64_t stride = window.strides[i];
  if (window.is_same) return (in + stride - 1) / stride;
  if (window.kernel[i] == kDynamic) return kDynamic;
  const std::int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
  const std::int64_t room = in + window.pad[2 * i] + window.pad[2 * i + 1] - reach;
  return room < 0 ? 0 : room / stride + 1;
}

std::function<ir::Literal(const ir::InferContext&)> per_spatial_axis(std::int32_t value,
                                                                     std::size_t count) {
  return [=](const ir::InferContext& context) {
    const std::size_t rank = context.type("x").shape.size();
    return ir::Literal::int32s(std::vector<std::int32_t>(rank < 2 ? 0 : (rank - 2) * count, value));
  };
}

}  // namespace anemone::ops
