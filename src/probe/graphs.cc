// SPDX-License-Identifier: Apache-2.0
#include "probe/graphs.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ops/registry.h"
#include "probe/random_weights.h"

namespace anemone::probe {
namespace {

using ir::Literal;
using ir::Type;
using ir::Value;

constexpr std::int64_t kTapCount = 4;

class Graph {
 public:
  Graph(mlpackage::Model& model, const Build& build, const Sizes& sizes, std::uint64_t seed)
      : b_(model.program, ops::op_registry(), "main", ir::Opset::kIOS18),
        build_(build),
        sizes_(sizes),
        seed_(seed * 7919) {}

  Result<mlpackage::FunctionInterface> build() {
    const bool is_wide = build_.kind == Build::Kind::kTaps || build_.kind == Build::Kind::kRange;
    const bool is_flexible = build_.kind == Build::Kind::kRange && build_.variant == 2;
    const std::int64_t tokens = is_wide ? sizes_.tokens : 1;
    Value* x = b_.input(
        "x", Type::tensor(DType::kFp16, {1, sizes_.hidden, 1, is_flexible ? kDynamic : tokens}));
    if (build_.kind == Build::Kind::kStates) begin_states();
    for (layer_ = 0; layer_ < sizes_.graph_layers; ++layer_) {
      if (build_.kind == Build::Kind::kStates) x = attend(x);
      if (build_.kind == Build::Kind::kTaps) x = convolve_over_time(x);
      if (build_.kind == Build::Kind::kSoftplus) x = softplus(x);
      x = mlp(x);
    }
    if (build_.kind == Build::Kind::kStates) end_states();
    std::vector<Value*> outputs = {x};
    if (build_.kind == Build::Kind::kHead) outputs = head(x);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i] != nullptr) b_.rename(outputs[i], fmt::format("y_{}", i));
    ANEMONE_RETURN_IF_ERROR(b_.finish(outputs));
    std::map<std::string, mlpackage::FlexibleShape> flexible;
    if (is_flexible)
      flexible["x"] = {{1, sizes_.hidden, 1, tokens},
                       {.ranges = {{1, 1}, {sizes_.hidden, sizes_.hidden}, {1, 1}, {1, tokens}}}};
    return mlpackage::describe_function(b_.function(), flexible);
  }
  std::uint64_t weight_bytes() const { return weight_bytes_; }

 private:
  Literal lazy(Shape shape, double bound, std::uint64_t seed) {
    const auto bytes = dtype_bytes(DType::kFp16, static_cast<std::uint64_t>(element_count(shape)));
    weight_bytes_ += bytes;
    auto make = [shape, bound, seed]() -> Result<Tensor> {
      return random_tensor(DType::kFp16, shape, bound, seed);
    };
    return Literal(Type::tensor(DType::kFp16, std::move(shape)),
                   ir::lazy_data(bytes, std::move(make)));
  }
  static Literal number(double value) { return Literal::number(value, DType::kFp16); }

  Value* conv(Value* x, std::int64_t outputs, std::int64_t inputs) {
    return b_.op(
        "conv",
        {{"x", x}, {"weight", lazy({outputs, inputs, 1, 1}, weight_bound(inputs), ++seed_)}},
        "conv");
  }
  Value* add(Value* a, Value* b) { return b_.op("add", {{"x", a}, {"y", b}}, "sum"); }
  Value* mul(Value* a, Value* b) { return b_.op("mul", {{"x", a}, {"y", b}}, "product"); }
  Value* reshape(Value* x, std::initializer_list<std::int32_t> shape) {
    return b_.op("reshape", {{"x", x}, {"shape", Literal::int32s(shape)}}, "reshaped");
  }

  // x + down(silu(up(x))). A product with up of 8 * hidden rows is 1 MiB per core where hidden is
  // 1024: ceil(8192 / 16) * 1024 * 2 bytes.
  Value* mlp(Value* x) {
    const bool is_notch = build_.kind == Build::Kind::kNotch;
    const std::int64_t parts = is_notch ? build_.variant : 1;
    const std::int64_t width = is_notch ? 8 * sizes_.hidden : sizes_.intermediate;
    for (std::int64_t i = 0; i < parts; ++i) {
      Value* up = b_.op("silu", {{"x", conv(x, width / parts, sizes_.hidden)}}, "silu");
      Value* down = conv(up, sizes_.hidden, width / parts);
      // The halves add up to one product, of another random weight.
      sum_ = i == 0 ? down : add(sum_, down);
    }
    return add(x, sum_);
  }

  std::vector<Value*> head(Value* x) {
    std::vector<Value*> out;
    for (int i = 0; i < build_.parts; ++i)
      out.push_back(conv(x, build_.variant * sizes_.head_unit / build_.parts, sizes_.hidden));
    return out;
  }

  Value* convolve_over_time(Value* x) {
    const std::int64_t c = sizes_.hidden;
    const auto tokens = static_cast<std::int32_t>(sizes_.tokens);
    const Literal taps = lazy({c, 1, 1, kTapCount}, weight_bound(kTapCount), ++seed_);
    Value* padded = b_.op("pad",
                          {{"x", x},
                           {"pad", Literal::int32s({0, 0, 0, 0, 0, 0, kTapCount - 1, 0})},
                           {"mode", Literal::text("constant")},
                           {"constant_val", number(0)}},
                          "padded");
    if (build_.variant == 1)
      return b_.op("conv",
                   {{"x", padded},
                    {"weight", taps},
                    {"groups", Literal::int32(static_cast<std::int32_t>(c))}},
                   "over_time");
    Value* sum = nullptr;
    for (std::int32_t t = 0; t < kTapCount; ++t) {
      Value* moved =
          b_.op("slice_by_index",
                {{"x", padded},
                 {"begin", Literal::int32s({0, 0, 0, t})},
                 {"end", Literal::int32s({1, static_cast<std::int32_t>(c), 1, t + tokens})}},
                "moved");
      Value* factor = b_.constant(lazy({1, c, 1, 1}, weight_bound(kTapCount), ++seed_), "tap");
      Value* product = mul(moved, factor);
      sum = t == 0 ? product : add(sum, product);
    }
    return sum;
  }

  // The input is scaled to about 40, so that a softplus that fails above 10.4 shows.
  Value* softplus(Value* x) {
    Value* large = b_.op("mul", {{"x", x}, {"y", number(20)}}, "large");
    Value* out = nullptr;
    if (build_.variant == 1) {
      out = b_.op("softplus", {{"x", large}}, "softplus");
    } else {
      Value* exponent = b_.op("mul", {{"x", b_.op("abs", {{"x", large}})}, {"y", number(-1)}});
      Value* one_more = b_.op("add", {{"x", b_.op("exp", {{"x", exponent}})}, {"y", number(1)}});
      Value* log = b_.op("log", {{"x", one_more}, {"epsilon", number(0)}}, "log");
      out = add(b_.op("maximum", {{"x", large}, {"y", number(0)}}), log);
    }
    return b_.op("mul", {{"x", out}, {"y", number(0.05)}}, "small");
  }

  // --- caches

  Shape cache_shape(std::int64_t count) const {
    return {count, sizes_.kv_heads, sizes_.context, sizes_.head_dim()};
  }

  void begin_states() {
    const std::int64_t s = sizes_.context;
    attention_mask_ = b_.input("attention_mask", Type::tensor(DType::kFp16, {1, 1, 1, s}));
    write_mask_ = b_.input("write_mask", Type::tensor(DType::kFp16, {1, 1, s, 1}));
    keep_mask_ = b_.input("keep_mask", Type::tensor(DType::kFp16, {1, 1, s, 1}));
    const std::int64_t caches = 2 * sizes_.graph_layers;
    const std::int64_t count = build_.variant == 0 ? caches : build_.variant;
    for (std::int64_t i = 0; i < count; ++i) {
      states_.push_back(b_.input(fmt::format("cache_{}", i),
                                 Type::state(DType::kFp16, cache_shape(caches / count))));
      before_.push_back(b_.read_state(states_.back(), "before"));
    }
    after_.resize(states_.size());
  }

  // Cache number `index`, keys of all layers before values, with the row of this step.
  Value* updated(std::int64_t index, Value* row) {
    const std::int64_t each = 2 * sizes_.graph_layers / static_cast<std::int64_t>(states_.size());
    const auto state = static_cast<std::size_t>(index / each);
    Value* cache = before_[state];
    if (each > 1) {
      const auto at = static_cast<std::int32_t>(index % each);
      cache = b_.op("slice_by_index",
                    {{"x", cache},
                     {"begin", Literal::int32s({at, 0, 0, 0})},
                     {"end", Literal::int32s({at + 1, static_cast<std::int32_t>(sizes_.kv_heads),
                                              static_cast<std::int32_t>(sizes_.context),
                                              static_cast<std::int32_t>(sizes_.head_dim())})}},
                    "cache");
    }
    Value* out = add(mul(cache, keep_mask_), mul(row, write_mask_));
    after_[state].emplace_back(index, out);
    return out;
  }

  Value* attend(Value* x) {
    const auto heads = static_cast<std::int32_t>(sizes_.kv_heads);
    const auto dim = static_cast<std::int32_t>(sizes_.head_dim());
    const std::int64_t width = sizes_.kv_heads * sizes_.head_dim();
    const auto row = [&] { return reshape(conv(x, width, sizes_.hidden), {1, heads, 1, dim}); };
    Value* query = row();
    Value* keys = updated(layer_, row());
    Value* values = updated(sizes_.graph_layers + layer_, row());
    Value* scores = b_.op(
        "matmul", {{"x", query}, {"y", keys}, {"transpose_y", Literal::boolean(true)}}, "scores");
    Value* weights = b_.op(
        "softmax", {{"x", add(scores, attention_mask_)}, {"axis", Literal::int32(-1)}}, "weights");
    Value* mixed = b_.op("matmul", {{"x", weights}, {"y", values}}, "mixed");
    return add(
        x, conv(reshape(mixed, {1, static_cast<std::int32_t>(width), 1, 1}), sizes_.hidden, width));
  }

  void end_states() {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      std::ranges::sort(after_[i], {}, [](const auto& each) { return each.first; });
      std::vector<Value*> parts;
      for (const auto& each : after_[i]) parts.push_back(each.second);
      Value* all = parts.size() == 1 ? parts.front()
                                     : b_.op("concat",
                                             {{"values", parts},
                                              {"axis", Literal::int32(0)},
                                              {"interleave", Literal::boolean(false)}},
                                             "after");
      b_.write_state(states_[i], all, "write");
    }
  }

  ir::Builder b_;
  const Build& build_;
  const Sizes& sizes_;
  std::uint64_t seed_;  // of the last weight
  std::uint64_t weight_bytes_ = 0;
  std::int64_t layer_ = 0;
  Value* sum_ = nullptr;
  Value* attention_mask_ = nullptr;
  Value* write_mask_ = nullptr;
  Value* keep_mask_ = nullptr;
  std::vector<Value*> states_;
  std::vector<Value*> before_;
  std::vector<std::vector<std::pair<std::int64_t, Value*>>> after_;  // caches by number
};

}  // namespace

Result<BuiltGraph> build_graph(const Build& build, const Sizes& sizes, std::uint64_t seed) {
  BuiltGraph out;
  Graph graph(out.model, build, sizes, seed);
  ANEMONE_ASSIGN_OR_RETURN(auto interface, graph.build());
  out.model.functions.push_back(std::move(interface));
  out.weight_bytes = graph.weight_bytes();
  return out;
}

}  // namespace anemone::probe
