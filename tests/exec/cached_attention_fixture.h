// SPDX-License-Identifier: Apache-2.0
// Attention over states, as the compiler writes it for caches that are blended.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/exec/fusion_fixture.h"

namespace anemone::exec {

struct CachedAttention : FusionFixture {
  // Six query heads per key/value head: attention of that takes integers where it can.
  static constexpr std::int64_t kHeads = 12;
  static constexpr std::int64_t kKvHeads = 2;
  static constexpr std::int64_t kDim = 8;
  static constexpr std::int64_t kPositions = 12;

  // keys and values written into states by the mask, and attention over them.
  Value* update(Builder& b, const std::string& name, Value* tokens, Value* write) {
    Value* state = b.input(name, Type::state(DType::kFp16, state_shape));
    Value* before = b.read_state(state, name + "_before");
    Value* written = b.op(
        "reduce_sum",
        {{"x", write}, {"axes", Literal::int32s({-1})}, {"keep_dims", Literal::boolean(true)}});
    Value* keep = b.op("sub", {{"x", Literal::number(1, DType::kFp16)}, {"y", written}});
    if (multiplies_one_token)
      keep = b.op("sub", {{"x", Literal::number(1, DType::kFp16)}, {"y", write}});
    Value* placed = multiplies_one_token ? b.op("mul", {{"x", tokens}, {"y", write}})
                                         : b.op("matmul", {{"x", write}, {"y", tokens}});
    Value* after = b.op("add", {{"x", b.op("mul", {{"x", before}, {"y", keep}})}, {"y", placed}});
    if (is_open) after->type = half(Shape(4, kDynamic));
    b.write_state(state, after, name + "_write");
    return after;
  }
  Value* reshape(Builder& b, Value* x, std::initializer_list<std::int32_t> shape) {
    return b.op("reshape", {{"x", x}, {"shape", Literal::int32s(shape)}});
  }
  // One score more in each row, around those that there are, of which no weight is given.
  Value* softmax_with_sinks(Builder& b, Value* scores) {
    const auto reduce = [&](std::string_view op, Value* x) {
      return b.op(
          op, {{"x", x}, {"axes", Literal::int32s({-1})}, {"keep_dims", Literal::boolean(true)}});
    };
    Value* sinks = b.constant(random_literal({1, scores->type.shape[1], 1, 1}, 3), "sinks");
    Value* top = b.op("maximum", {{"x", sinks}, {"y", reduce("reduce_max", scores)}});
    const auto weight = [&](Value* x) {
      return b.op("exp", {{"x", b.op("sub", {{"x", x}, {"y", top}})}});
    };
    Value* weights = weight(scores);
    Value* total = b.op("add", {{"x", weight(sinks)}, {"y", reduce("reduce_sum", weights)}});
    Value* inverse = b.op("inverse", {{"x", total}, {"epsilon", Literal::number(0, DType::kFp16)}});
    return b.op("mul", {{"x", inverse}, {"y", weights}});
  }
  bool multiplies_one_token = false;  // cache * (1 - write) + tokens * write
  bool has_sinks = false;
  bool has_heads_first = false;  // scores of [heads, 1, T, S]
  bool is_open = false;          // the program does not say what shape it writes into the states
  std::int64_t positions = kPositions;
  std::int64_t dim = kDim;
  Shape state_shape = {1, kKvHeads, kPositions, kDim};

  // Output [1, heads, T, dim].
  Value* attention(Builder& b, std::int32_t t, Value* write = nullptr) {
    constexpr auto kGroup = static_cast<std::int32_t>(kHeads / kKvHeads);
    constexpr auto kv = static_cast<std::int32_t>(kKvHeads);
    constexpr auto heads = static_cast<std::int32_t>(kHeads);
    const auto dims = static_cast<std::int32_t>(dim);
    const auto places = static_cast<std::int32_t>(positions);
    Value* q = b.input("q", half({1, kHeads, t, dim}));
    Value* k = b.input("k", half({1, kKvHeads, t, dim}));
    Value* v = b.input("v", half({1, kKvHeads, t, dim}));
    if (write == nullptr) write = b.input("write", half({1, 1, positions, t}));
    Value* look = b.input("look", half({1, 1, t, positions}));
    Value* scaled = b.op("mul", {{"x", q}, {"y", Literal::number(0.5, DType::kFp16)}});
    Value* keys = update(b, "keys", k, write);
    Value* values = update(b, "values", v, write);
    Value* grouped = reshape(b, scaled, {1, kv, kGroup * t, dims});
    Value* scores = b.op("matmul", {{"x", grouped},
                                    {"y", keys},
                                    {"transpose_x", Literal::boolean(false)},
                                    {"transpose_y", Literal::boolean(true)}});
    Value* by_head = has_heads_first ? reshape(b, scores, {heads, 1, t, places})
                                     : reshape(b, scores, {1, heads, t, places});
    Value* masked = b.op("add", {{"x", by_head}, {"y", look}});
    Value* weights = has_sinks ? softmax_with_sinks(b, masked)
                               : b.op("softmax", {{"x", masked}, {"axis", Literal::int32(-1)}});
    Value* mixed =
        b.op("matmul", {{"x", reshape(b, weights, {1, kv, kGroup * t, places})}, {"y", values}});
    return reshape(b, mixed, {1, heads, t, dims});
  }

  // Tokens at `position`, each looking at all positions up to itself (and `window` at most).
  std::vector<Given> step(std::int64_t t, std::int64_t position, std::int64_t window = 99) {
    Tensor write(DType::kFp16, {1, 1, positions, t});
    Tensor look(DType::kFp16, {1, 1, t, positions});
    for (std::int64_t i = 0; i < t; ++i)
      for (std::int64_t s = 0; s < positions; ++s) {
        const bool is_seen = s <= position + i && s > position + i - window;
        at(write, s * t + i) = to_half(s == position + i ? 1.0f : 0.0f);
        at(look, i * positions + s) = to_half(is_seen ? 0.0f : -1e4f);
      }
    std::vector<Given> out;
    out.push_back({"q", random({1, kHeads, t, dim}, 2)});
    out.push_back({"k", random({1, kKvHeads, t, dim}, 2)});
    out.push_back({"v", random({1, kKvHeads, t, dim})});
    out.push_back({"write", std::move(write)});
    out.push_back({"look", std::move(look)});
    return out;
  }
  static Half& at(Tensor& tensor, std::int64_t i) {
    return tensor.mutable_view().as<Half>()[static_cast<std::size_t>(i)];
  }
  void build(std::int32_t t) {
    Builder b = function();
    Value* y = attention(b, t);
    b.rename(y, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  }
};

}  // namespace anemone::exec
