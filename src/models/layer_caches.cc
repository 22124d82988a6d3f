// SPDX-License-Identifier: Apache-2.0
// What a function keeps from step to step: caches in each form, and recurrent states.
#include <algorithm>
#include <fmt/format.h>

#include "models/layer_graph.h"

namespace anemone::models {

using artifact::PortRole;
using ir::Literal;
using ir::Value;

LayerGraph::OpenCache LayerGraph::open_cache(artifact::Cache cache) {
  cache.dtype = options_.dtype;
  OpenCache out;
  out.is_state =
      options_.caches_are_states && (!cache.is_recurrent || options_.form.has_recurrent_states());
  out.input = builder_.input(cache.name, out.is_state ? ir::Type::state(cache.dtype, cache.shape)
                                                      : ir::Type::tensor(cache.dtype, cache.shape));
  out.stored = out.is_state ? builder_.read_state(out.input, cache.name + "_stored") : out.input;
  out.cache = std::move(cache);
  return out;
}

void LayerGraph::close_cache(OpenCache open, Value* updated) {
  if (open.is_state) {
    builder_.write_state(open.input, updated, open.cache.name + "_write");
  } else {
    open.cache.output = open.cache.name + "_out";
    builder_.rename(updated, open.cache.output);
    cache_outputs_.push_back(updated);
  }
  caches_.push_back(std::move(open.cache));
}

// In the function of a tier the context is smaller than that of the caches, which serve all
// functions.
Value* LayerGraph::cache_prefix(Value* cache, const std::string& name) {
  if (cache == nullptr || options_.context == options_.cache_context) return cache;
  std::vector<std::int32_t> end(cache->type.shape.begin(), cache->type.shape.end());
  end[2] = static_cast<std::int32_t>(options_.context);
  return builder_.op(
      "slice_by_index",
      {{"x", cache}, {"begin", Literal::int32s({0, 0, 0, 0})}, {"end", Literal::int32s(end)}},
      name);
}

Value* LayerGraph::with_prefix(Value* cache, Value* prefix, const std::string& name) {
  if (prefix == nullptr || options_.context == options_.cache_context) return prefix;
  const std::vector<std::int32_t> end(prefix->type.shape.begin(), prefix->type.shape.end());
  return builder_.op("slice_update",
                     {{"x", cache},
                      {"update", prefix},
                      {"begin", Literal::int32s({0, 0, 0, 0})},
                      {"end", Literal::int32s(end)}},
                     name);
}

Value* LayerGraph::extend_recurrent(const std::string& name, Value* tokens, std::int64_t channels,
                                    std::int64_t kept) {
  artifact::Cache cache;
  cache.name = name;
  cache.shape = {1, 1, channels, kept};
  cache.is_recurrent = true;
  OpenCache open = open_cache(std::move(cache));
  Value* extended = join({open.stored, tokens}, -1, name + "_extended");
  close_cache(std::move(open),
              builder_.op("matmul", {{"x", extended}, {"y", update_mask(kept)}}, name + "_after"));
  return extended;
}

Value* LayerGraph::read_recurrent(const std::string& name, const Shape& shape) {
  artifact::Cache cache;
  cache.name = name;
  cache.shape = shape;
  cache.is_recurrent = true;
  OpenCache& open = open_recurrent_[name] = open_cache(std::move(cache));
  return open.stored;
}

void LayerGraph::write_recurrent(const std::string& name, Value* updated) {
  if (updated != nullptr) close_cache(std::move(open_recurrent_.at(name)), updated);
}

CachedRows LayerGraph::append_to_cache(const std::string& name, Value* tokens,
                                       std::int64_t window) {
  const Shape& shape = tokens->type.shape;
  Value* past = builder_.input(
      name, ir::Type::tensor(options_.dtype, {1, shape[1], past_positions(window), shape[3]}));
  const std::string output = name + "_rows";
  Value* rows = tokens;
  // Keys and values may be the same tensor, which cannot be two outputs.
  if (std::ranges::find(cache_outputs_, tokens) == cache_outputs_.end())
    builder_.rename(tokens, output);
  else
    rows = builder_.op("identity", {{"x", tokens}}, output);
  cache_outputs_.push_back(rows);
  caches_.push_back({.name = name,
                     .output = output,
                     .dtype = options_.dtype,
                     .shape = {1, shape[1], options_.cache_context, shape[3]},
                     .is_appended = true,
                     .window = window});
  return {past, tokens};
}

LayerGraph::PackedCache& LayerGraph::packed_cache(const Shape& tokens) {
  const std::string name = fmt::format("kv_cache_{}x{}", tokens[1], tokens[3]);
  const auto [found, is_new] = packed_.try_emplace(name);
  PackedCache& packed = found->second;
  if (is_new) {
    // How many rows there are is known only when all layers are built.
    artifact::Cache cache;
    cache.name = name;
    cache.shape = {0, tokens[1], options_.cache_context + options_.widest_step, tokens[3]};
    packed.open = open_cache(std::move(cache));
    packed.values.push_back(packed.open.input);
    if (packed.open.is_state) packed.values.push_back(packed.open.stored);
  }
  return packed;
}

Value* LayerGraph::position() {
  Value*& value = inputs_["position"];
  if (value == nullptr) {
    value = builder_.input("position", ir::Type::tensor(DType::kInt32, {1}));
    ports_.push_back({.name = "position", .role = PortRole::kPosition});
  }
  return value;
}

Value* LayerGraph::position_end() {
  if (position_end_ == nullptr) {
    Value* begin = position();
    const auto tokens = static_cast<std::int32_t>(options_.tokens);
    position_end_ =
        builder_.op("add", {{"x", begin}, {"y", Literal::int32s({tokens})}}, "position_end");
  }
  return position_end_;
}

Value* LayerGraph::corner(std::int64_t row, std::int64_t head, Value* position, std::int64_t last,
                          const std::string& name) {
  const auto ints = [](std::initializer_list<std::int64_t> values) {
    return Literal::int32s(std::vector<std::int32_t>(values.begin(), values.end()));
  };
  Value* before = builder_.constant(ints({row, head}), name + "_row");
  Value* after = builder_.constant(ints({last}), name + "_last");
  return join({before, position, after}, 0, name);
}

CachedRows LayerGraph::write_to_packed(const std::string& name, Value* tokens) {
  PackedCache& packed = packed_cache(tokens->type.shape);
  OpenCache& open = packed.open;
  // A layer whose attention is in another shard is cut off, and has no rows.
  const std::int64_t row = is_in_shard() ? packed.rows++ : 0;
  const auto grow = [&](Value* value) {
    value->type.shape[0] = std::max(packed.rows, row + 1);
    packed.values.push_back(value);
    return value;
  };
  if (open.stored == nullptr) return {};  // the builder has failed
  grow(open.input);
  grow(open.stored);
  Value* first = position();
  Value* end = position_end();
  const Shape& shape = tokens->type.shape;
  Value* from = corner(row, 0, first, 0, name + "_begin");
  Value* to = corner(row + 1, shape[1], end, shape[3], name + "_end");
  Value* updated = builder_.op(
      "slice_update", {{"x", open.stored}, {"update", tokens}, {"begin", from}, {"end", to}},
      name + "_updated");
  if (updated == nullptr) return {};
  grow(updated);
  if (open.is_state) {
    builder_.write_state(open.input, updated, name + "_write");
    updated = builder_.read_state(open.input, name + "_stored");
    if (updated == nullptr) return {};
    grow(updated);
  }
  if (is_in_shard()) open.stored = updated;
  const auto begin = static_cast<std::int32_t>(row);
  const std::vector<std::int32_t> border = {begin + 1, static_cast<std::int32_t>(shape[1]),
                                            static_cast<std::int32_t>(options_.context),
                                            static_cast<std::int32_t>(shape[3])};
  return {builder_.op("slice_by_index",
                      {{"x", updated},
                       {"begin", Literal::int32s({begin, 0, 0, 0})},
                       {"end", Literal::int32s(border)}},
                      name + "_seen")};
}

void LayerGraph::finish_packed_caches() {
  for (auto& [name, packed] : packed_) {
    OpenCache& open = packed.open;
    open.cache.shape[0] = packed.rows;
    for (Value* value : packed.values) value->type.shape[0] = packed.rows;
    if (packed.rows == 0) continue;
    if (!open.is_state) {
      open.cache.output = name + "_out";
      builder_.rename(open.stored, open.cache.output);
      cache_outputs_.push_back(open.stored);
    }
    caches_.push_back(std::move(open.cache));
  }
}

CachedRows LayerGraph::update_cache(const std::string& name, Value* tokens, std::int64_t window) {
  if (tokens == nullptr || config_.classifies()) return {tokens};
  if (options_.form.has_appended_caches())
    return cached_[name] = append_to_cache(name, tokens, window);
  if (options_.form.has_packed_caches()) return cached_[name] = write_to_packed(name, tokens);
  artifact::Cache cache;
  cache.name = name;
  const Shape& shape = tokens->type.shape;
  cache.shape = {1, shape[1], options_.cache_context, shape[3]};
  OpenCache open = open_cache(std::move(cache));
  Value* before = cache_prefix(open.stored, name + "_before");
  // A product with a one-hot matrix places the tokens, because the chip has no scatter. Whether it
  // runs slice_update, as write_to_packed() has it, is contested (law slice-update).
  Value* placed =
      builder_.op("matmul", {{"x", cache_write_mask()}, {"y", tokens}}, name + "_placed");
  Value* kept = mul(before, cache_keep_mask(), name + "_kept");
  Value* after = add(kept, placed, name + "_after");
  Value* updated = with_prefix(open.stored, after, name + "_updated");
  close_cache(std::move(open), updated);
  return cached_[name] = {after};
}

CachedRows LayerGraph::cache_of_other_layer(const std::string& name, const std::string& carried,
                                            std::int64_t heads, std::int64_t window) {
  if (const auto found = cached_.find(name); found != cached_.end()) return found->second;
  return update_cache(name, to_heads(shared_[carried], heads, name + "_entered"), window);
}

}  // namespace anemone::models
