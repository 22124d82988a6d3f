// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <fmt/format.h>
#include <vector>

#include "models/blocks/blocks.h"

namespace anemone::models {

using ir::Literal;
using ir::Value;

namespace {

// Whether a convolution is written as products with its taps.
bool is_written_out(const LayerGraph& graph, std::int64_t channels, std::int64_t groups) {
  return graph.options().form.taps == artifact::TapsForm::kArithmetic && groups == channels;
}

// The tokens of x from `tap` on that meet this tap: all but so many of the last as taps follow it.
Value* tokens_of_tap(LayerGraph& graph, Value* x, std::int64_t tap, std::int64_t taps,
                     const std::string& name) {
  const bool is_width = graph.options().form.layout == artifact::HiddenLayout::kTokensInWidth;
  const auto at_tokens = [&](std::int64_t value) {
    const auto own = static_cast<std::int32_t>(value);
    return is_width ? Literal::int32s({0, 0, 0, own}) : Literal::int32s({0, 0, own, 0});
  };
  const bool is_last = tap + 1 == taps;
  return graph.builder().op(
      "slice_by_index",
      {{"x", x},
       {"begin", at_tokens(tap)},
       {"end", at_tokens(tap - taps + 1)},
       {"end_mask", Literal::bools({true, true, is_width || is_last, !is_width || is_last})}},
      name);
}

// The sum over taps of tokens * weights of the tap. Products are added in halves onto each other,
// as the CPU engine adds the terms of a convolution: fp32 has the bits of the operation, and fp16
// rounds a term log2(taps) times at most.
Value* weighed_taps(LayerGraph& graph, Value* x, std::int64_t taps, const std::string& weight,
                    Value* bias, const std::string& name) {
  const std::int64_t channels = x->type.shape[1];
  std::vector<Value*> terms;
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    const std::string own = fmt::format("{}_tap_{}", name, tap);
    Value* weights = graph.weights().vector(graph.builder(),
                                            {{.tensor = weight,
                                              .size = channels,
                                              .shape = {channels, 1, taps},
                                              .begin = tap,
                                              .step = taps}},
                                            {1, channels, 1, 1}, own);
    terms.push_back(
        graph.mul(tokens_of_tap(graph, x, tap, taps, own + "_tokens"), weights, own + "_weighed"));
  }
  for (std::size_t half = std::bit_ceil(terms.size()) / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; half + i < terms.size(); ++i)
      terms[i] = graph.add(terms[i], terms[half + i], name + "_taps_sum");
    terms.resize(half);
  }
  return bias == nullptr ? terms[0] : graph.add(terms[0], bias, name + "_over_time");
}

}  // namespace

Value* after_earlier(LayerGraph& graph, const std::string& cache, Value* x, std::int64_t kept,
                     const std::string& name) {
  if (x == nullptr) return nullptr;
  const std::int64_t tokens = graph.options().tokens;
  const std::int64_t width = x->type.shape[1];
  // Tokens become the last axis, along which the earlier ones are joined to them.
  Value* columns = graph.reshape(x, {1, 1, width, tokens}, name + "_columns");
  Value* extended = graph.extend_recurrent(cache, columns, width, kept);
  const std::int64_t extent = tokens == kDynamic ? kDynamic : kept + tokens;
  return graph.reshape(extended, artifact::hidden_shape(graph.options().form.layout, width, extent),
                       name + "_extended");
}

Value* conv_over_time(LayerGraph& graph, Value* x, std::int64_t groups, std::int64_t taps,
                      const std::string& weight, Value* bias, const std::string& name) {
  if (x == nullptr) return nullptr;
  const std::int64_t channels = x->type.shape[1];
  if (is_written_out(graph, channels, groups))
    return weighed_taps(graph, x, taps, weight, bias, name);
  const std::int64_t inputs = channels / groups;
  ir::Builder& b = graph.builder();
  Shape kernel = artifact::hidden_shape(graph.options().form.layout, inputs, taps);
  kernel[0] = channels;
  Value* weights = graph.weights().vector(
      b, {{.tensor = weight, .size = channels * inputs * taps, .shape = {channels, inputs, taps}}},
      kernel, name + "_taps");
  std::vector<ir::Builder::Input> arguments = {
      {"x", x}, {"weight", weights}, {"groups", Literal::int32(static_cast<std::int32_t>(groups))}};
  if (bias != nullptr) arguments.push_back({"bias", bias});
  return b.op("conv", std::move(arguments), name + "_over_time");
}

Value* conv_bias(LayerGraph& graph, const std::string& tensor, std::int64_t channels,
                 std::int64_t groups, const std::string& name) {
  const Shape shape =
      is_written_out(graph, channels, groups) ? Shape{1, channels, 1, 1} : Shape{channels};
  return graph.weights().vector(graph.builder(), {{tensor, channels}}, shape, name);
}

Value* causal_conv(LayerGraph& graph, const std::string& cache, Value* x, std::int64_t taps,
                   const std::string& weight, Value* bias, const std::string& name) {
  if (x == nullptr) return nullptr;
  return conv_over_time(graph, after_earlier(graph, cache, x, taps - 1, name), x->type.shape[1],
                        taps, weight, bias, name);
}

}  // namespace anemone::models
