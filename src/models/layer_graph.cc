// SPDX-License-Identifier: Apache-2.0
#include "models/layer_graph.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace anemone::models {

using artifact::PortRole;
using ir::Literal;
using ir::Value;

LayerGraph::LayerGraph(ir::Builder& builder, const DecoderConfig& config, WeightProvider& weights,
                       const GraphOptions& options, const artifact::LayerSpan& layers)
    : builder_(builder), config_(config), weights_(weights), options_(options), layers_(layers) {}

void LayerGraph::begin_layer(std::int64_t layer) {
  layer_ = layer;
  part_ = 0;
}

void LayerGraph::end_part() {
  // Keys and values that layers share are no values of a token: they cannot cross a border.
  if (config_.shares_keys()) return;
  part_ends_.push_back({layer_, ++part_, builder_.function().block->ops.size()});
}

bool LayerGraph::is_in_shard() const {
  if (layer_ == layers_.begin && part_ < layers_.part_begin) return false;
  return layers_.part_end == 0 || layer_ < layers_.end - 1 || part_ < layers_.part_end;
}

Value* LayerGraph::port(artifact::Port port, Shape shape) {
  Value*& value = inputs_[port.name];
  if (value == nullptr) {
    value = builder_.input(port.name, tensor_type(std::move(shape)));
    ports_.push_back(std::move(port));
  }
  return value;
}

Value* LayerGraph::hidden_input() {
  const artifact::Port hidden = {.name = layers_.part_begin == 0 ? "hidden" : "hidden_of_layer",
                                 .role = PortRole::kHidden};
  std::vector<std::int64_t> sizes = {config_.hidden_size};
  std::vector<std::string> names;
  for (const CarriedValue& value : config_.carried) {
    if (layers_.begin == 0 || !value.crosses(layers_.begin)) continue;
    sizes.push_back(value.channels);
    names.push_back(value.name);
  }
  if (names.empty()) return port(hidden, hidden_shape(config_.hidden_size));
  Value* all =
      port(hidden, hidden_shape(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0})));
  const std::vector<Value*> parts = split(all, sizes, 1, "entered");
  for (std::size_t i = 0; i < names.size(); ++i) shared_[names[i]] = parts[i + 1];
  return parts[0];
}

Value* LayerGraph::embedding() {
  if (layers_.begin == 0 && layers_.part_begin == 0) return inputs_.at("hidden");
  return port({.name = "embedding", .role = PortRole::kEmbedding},
              hidden_shape(config_.hidden_size));
}

Value* LayerGraph::layer_embedding() {
  return port({.name = "layer_embedding", .role = PortRole::kLayerEmbedding},
              hidden_shape((layers_.end - layers_.begin) * config_.layer_embedding_size));
}

bool LayerGraph::leaves(const std::string& name) const {
  return std::ranges::any_of(config_.carried, [&](const CarriedValue& value) {
    return value.name == name && value.crosses(layers_.end);
  });
}

Value* LayerGraph::leave(Value* hidden) {
  std::vector<Value*> parts = {hidden};
  for (const CarriedValue& value : config_.carried)
    if (value.crosses(layers_.end)) parts.push_back(shared_[value.name]);
  return parts.size() == 1 ? hidden : join(parts, 1, "left");
}

Value* LayerGraph::rope_cos(const artifact::Rope& rope) {
  const auto half = static_cast<std::int64_t>(rope.inv_freq.size());
  return port({.name = rope.name + "_cos", .role = PortRole::kRopeCos, .rope = rope.name},
              {1, 1, options_.tokens, half});
}

Value* LayerGraph::rope_sin(const artifact::Rope& rope) {
  const auto half = static_cast<std::int64_t>(rope.inv_freq.size());
  return port({.name = rope.name + "_sin", .role = PortRole::kRopeSin, .rope = rope.name},
              {1, 1, options_.tokens, half});
}

Value* LayerGraph::attention_mask(std::int64_t window) {
  std::string name =
      window == 0 ? "attention_mask" : fmt::format("attention_mask_window_{}", window);
  const bool is_split = options_.form.has_appended_caches() && !config_.classifies();
  std::int64_t columns = options_.context;
  if (is_split) {
    columns = past_positions(window);
    if (columns != kDynamic) columns += options_.tokens;
  }
  return port({.name = std::move(name),
               .role = is_split ? PortRole::kAttentionMaskPastAndStep : PortRole::kAttentionMask,
               .window = window},
              {1, 1, options_.tokens, columns});
}

Value* LayerGraph::cache_write_mask() {
  return port({.name = "cache_write_mask", .role = PortRole::kCacheWriteMask},
              {1, 1, options_.context, options_.tokens});
}

Value* LayerGraph::cache_keep_mask() {
  if (keep_mask_ == nullptr) {
    Value* written = builder_.op("reduce_sum",
                                 {{"x", cache_write_mask()},
                                  {"axes", Literal::int32s({-1})},
                                  {"keep_dims", Literal::boolean(true)}},
                                 "cache_written");
    keep_mask_ = builder_.op("sub", {{"x", number(1)}, {"y", written}}, "cache_keep");
  }
  return keep_mask_;
}

Value* LayerGraph::experts_apart(const std::string& prefix, Value* x, Value* weights) {
  if (layers_.part_end != 0 && layer_ == layers_.end - 1)
    last_experts_ = ExpertsApart{prefix, x, weights};
  end_part();
  return port({.name = "experts", .role = PortRole::kExperts}, hidden_shape(config_.hidden_size));
}

Value* LayerGraph::earlier(std::int64_t count) {
  Value*& mask = earlier_[count];
  if (mask == nullptr) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t j = 0; j < count; ++j) values.push_back(j < i ? 1.0F : 0.0F);
    Tensor tensor(options_.dtype, {1, count, 1, count});
    store_floats(values, tensor.mutable_view());
    mask = builder_.constant(Literal::of(std::move(tensor)), fmt::format("earlier_of_{}", count));
  }
  return mask;
}

Value* LayerGraph::update_mask(std::int64_t tail) {
  const std::int64_t rows = options_.tokens == kDynamic ? kDynamic : tail + options_.tokens;
  return port(
      {.name = fmt::format("tail_mask_{}", tail), .role = PortRole::kUpdateMask, .tail = tail},
      {1, 1, rows, tail});
}

// The first column of the update mask has its 1 in the row of the number of tokens: token t is one
// of them when that row is after row t.
Value* LayerGraph::real_tokens(std::int64_t tail) {
  Value*& real = real_tokens_[tail];
  if (real != nullptr) return real;
  const std::int64_t rows = tail + options_.tokens;
  std::vector<float> values;
  for (std::int64_t t = 0; t < options_.tokens; ++t)
    for (std::int64_t row = 0; row < rows; ++row) values.push_back(row > t ? 1.0F : 0.0F);
  Tensor later(options_.dtype, {1, 1, options_.tokens, rows});
  store_floats(values, later.mutable_view());
  Value* counted =
      builder_.op("matmul",
                  {{"x", builder_.constant(Literal::of(std::move(later)), "later_rows")},
                   {"y", update_mask(tail)}},
                  "real_tokens");
  real = tail == 1 ? counted : split(counted, {1, tail - 1}, -1, "real_tokens_split")[0];
  return real;
}

Value* LayerGraph::add(Value* a, Value* b, std::string_view name) {
  return builder_.op("add", {{"x", a}, {"y", b}}, name);
}

Value* LayerGraph::mul(Value* a, Value* b, std::string_view name) {
  return builder_.op("mul", {{"x", a}, {"y", b}}, name);
}

Value* LayerGraph::scale(Value* a, double factor, std::string_view name) {
  return builder_.op("mul", {{"x", a}, {"y", number(factor)}}, name);
}

Value* LayerGraph::reshape(Value* a, const Shape& shape, std::string_view name) {
  if (a != nullptr && a->type.shape == shape) return a;
  const std::vector<std::int32_t> dims(shape.begin(), shape.end());
  return builder_.op("reshape", {{"x", a}, {"shape", Literal::int32s(dims)}}, name);
}

Value* LayerGraph::transpose(Value* a, const std::vector<std::int32_t>& permutation,
                             std::string_view name) {
  return builder_.op("transpose", {{"x", a}, {"perm", Literal::int32s(permutation)}}, name);
}

std::vector<Value*> LayerGraph::split(Value* a, const std::vector<std::int64_t>& sizes,
                                      std::int32_t axis, std::string_view name) {
  const std::vector<std::int32_t> parts(sizes.begin(), sizes.end());
  auto outputs = builder_.ops(
      "split", {{"x", a}, {"split_sizes", Literal::int32s(parts)}, {"axis", Literal::int32(axis)}},
      sizes.size(), name);
  outputs.resize(sizes.size(),
                 nullptr);  // callers index without asking; nullptr keeps the first error
  return outputs;
}

Value* LayerGraph::join(const std::vector<Value*>& parts, std::int32_t axis,
                        std::string_view name) {
  return builder_.op(
      "concat",
      {{"values", parts}, {"axis", Literal::int32(axis)}, {"interleave", Literal::boolean(false)}},
      name);
}

Value* LayerGraph::to_heads(Value* x, std::int64_t heads, const std::string& name) {
  if (x == nullptr) return nullptr;
  const std::int64_t width = x->type.shape[1] / heads;
  return transpose(reshape(x, {1, heads, width, options_.tokens}, name + "_split"), {0, 1, 3, 2},
                   name + "_heads");
}

// Channels are [head, dim] for each token: tokens last, then flatten.
Value* LayerGraph::from_heads(Value* x, const std::string& name) {
  if (x == nullptr) return nullptr;
  const std::int64_t channels = x->type.shape[1] * x->type.shape[3];
  return reshape(transpose(x, {0, 1, 3, 2}, name + "_channels"), hidden_shape(channels),
                 name + "_hidden");
}

}  // namespace anemone::models
