// SPDX-License-Identifier: Apache-2.0
// States that slice_update writes at a position of the run: packed ones of several layers, and
// those of other people's packages.
#include <cstring>

#include "tests/exec/fusion_fixture.h"

namespace anemone::exec {
namespace {

struct SlicedStates : FusionFixture {
  static constexpr std::int32_t kHeads = 4;
  static constexpr std::int32_t kKvHeads = 2;
  static constexpr std::int32_t kDim = 8;
  static constexpr std::int32_t kContext = 12;
  static constexpr std::int32_t kRoom = 16;  // positions of the state
  static constexpr std::int32_t kTokens = 3;

  // As a PyTorch buffer of [layers, batch, heads, positions, dim], of which a layer is an index.
  bool has_five_axes = false;
  bool reads_before_writing_back = false;
  bool reads_in_two_slices = false;

  Shape state_shape() const {
    return has_five_axes ? Shape{4, 1, kKvHeads, kRoom, kDim} : Shape{4, kKvHeads, kRoom, kDim};
  }
  Value* join(Builder& b, const std::vector<Value*>& values) {
    return b.op(
        "concat",
        {{"values", values}, {"axis", Literal::int32(0)}, {"interleave", Literal::boolean(false)}});
  }
  Value* corner(Builder& b, std::int32_t row, std::int32_t head, Value* position,
                std::int32_t last) {
    std::vector<std::int32_t> before = {row, head};
    if (has_five_axes) before.insert(before.begin() + 1, head == 0 ? 0 : 1);
    return join(b, {b.constant(Literal::int32s(before), "before"), position,
                    b.constant(Literal::int32s({last}), "last")});
  }
  Literal squeeze() const {
    return has_five_axes ? Literal::bools({true, false, false, false, false})
                         : Literal::bools({false, false, false, false});
  }

  // The state with the tokens of a row, and what a step sees of the row.
  Value* update(Builder& b, Value* stored, std::int32_t row, Value* tokens) {
    return b.op("slice_update", {{"x", stored},
                                 {"update", tokens},
                                 {"begin", corner(b, row, 0, position, 0)},
                                 {"end", corner(b, row + 1, kKvHeads, position_end, kDim)},
                                 {"squeeze_mask", squeeze()}});
  }
  Value* seen(Builder& b, Value* stored, std::int32_t row) {
    std::vector<std::int32_t> begin = {row, 0, 0, 0};
    std::vector<std::int32_t> end = {row + 1, kKvHeads, kContext, kDim};
    if (has_five_axes) {
      begin.insert(begin.begin() + 1, 0);
      end.insert(end.begin() + 1, 1);
    }
    if (reads_in_two_slices) {
      Value* row_of = b.op("slice_by_index", {{"x", stored},
                                              {"begin", Literal::int32s(begin)},
                                              {"end", Literal::int32s({row + 1, 99, 99, 99})}});
      return b.op("slice_by_index", {{"x", row_of},
                                     {"begin", Literal::int32s({0, 0, 0, 0})},
                                     {"end", Literal::int32s({1, 99, kContext, 99})}});
    }
    return b.op("slice_by_index", {{"x", stored},
                                   {"begin", Literal::int32s(begin)},
                                   {"end", Literal::int32s(end)},
                                   {"squeeze_mask", squeeze()}});
  }
  // Writes a row and gives what is seen of it.
  Value* cache(Builder& b, std::int32_t row, Value* tokens) {
    Value* updated = update(b, stored, row, tokens);
    if (reads_before_writing_back) {
      b.write_state(state, updated, "write");
      stored = updated;
      return seen(b, updated, row);
    }
    b.write_state(state, updated, "write");
    stored = b.read_state(state, "stored");
    return seen(b, stored, row);
  }
  Value* reshape(Builder& b, Value* x, std::initializer_list<std::int32_t> shape) {
    return b.op("reshape", {{"x", x}, {"shape", Literal::int32s(shape)}});
  }
  Value* attention(Builder& b, Value* q, Value* keys, Value* values, Value* look) {
    constexpr std::int32_t kGroup = kHeads / kKvHeads;
    Value* scores = b.op("matmul", {{"x", reshape(b, q, {1, kKvHeads, kGroup * kTokens, kDim})},
                                    {"y", keys},
                                    {"transpose_x", Literal::boolean(false)},
                                    {"transpose_y", Literal::boolean(true)}});
    Value* masked =
        b.op("add", {{"x", reshape(b, scores, {1, kHeads, kTokens, kContext})}, {"y", look}});
    Value* weights = b.op("softmax", {{"x", masked}, {"axis", Literal::int32(-1)}});
    Value* mixed = b.op(
        "matmul",
        {{"x", reshape(b, weights, {1, kKvHeads, kGroup * kTokens, kContext})}, {"y", values}});
    return reshape(b, mixed, {1, kHeads, kTokens, kDim});
  }

  Value* state = nullptr;
  Value* stored = nullptr;
  Value* position = nullptr;
  Value* position_end = nullptr;

  void begin(Builder& b) {
    state = b.input("cache", Type::state(DType::kFp16, state_shape()));
    position = b.input("position", Type::tensor(DType::kInt32, {1}));
    position_end = b.op("add", {{"x", position}, {"y", Literal::int32s({kTokens})}});
    stored = b.read_state(state, "stored");
  }
  // Two layers over one state.
  void build(bool others_read = false) {
    program = std::make_shared<Program>();
    Builder b = function();
    begin(b);
    Value* y = b.input("q", half({1, kHeads, kTokens, kDim}));
    Value* look = b.input("look", half({1, 1, kTokens, kContext}));
    std::vector<Value*> outputs;
    for (std::int32_t layer = 0; layer < 2; ++layer) {
      Value* keys = cache(b, 2 * layer, b.input("k" + std::to_string(layer), tokens_type()));
      Value* values = cache(b, 2 * layer + 1, b.input("v" + std::to_string(layer), tokens_type()));
      y = attention(b, y, keys, values, look);
      if (others_read && layer == 0) outputs.push_back(values);
    }
    b.rename(y, "y");
    outputs.push_back(y);
    ASSERT_TRUE(b.finish(outputs).ok()) << b.status().message();
  }
  static Type tokens_type() { return half({1, kKvHeads, kTokens, kDim}); }

  std::vector<Given> step(std::int32_t at) {
    Tensor look(DType::kFp16, {1, 1, kTokens, kContext});
    std::vector<float> mask;
    for (std::int32_t t = 0; t < kTokens; ++t)
      for (std::int32_t s = 0; s < kContext; ++s) mask.push_back(s <= at + t ? 0.0F : -1e4F);
    store_floats(mask, look.mutable_view());
    std::vector<Given> out;
    out.emplace_back("position", ints({1}, {at}));
    out.emplace_back("q", random({1, kHeads, kTokens, kDim}));
    out.emplace_back("look", std::move(look));
    for (const char* name : {"k0", "v0", "k1", "v1"})
      out.emplace_back(name, random({1, kKvHeads, kTokens, kDim}));
    return out;
  }
  static Inputs inputs_of(const std::vector<Given>& given) {
    Inputs inputs;
    for (const Given& one : given) inputs.push_back({one.name, one.tensor.view()});
    return inputs;
  }
  std::vector<std::string> steps_of(const LoadedProgram& loaded) {
    std::vector<std::string> names;
    const auto steps = explain(loaded);
    EXPECT_TRUE(steps.ok());
    for (const PlanStep& one : *steps) names.push_back(one.name);
    return names;
  }
  static const std::byte* memory_of(StateStore& store) {
    const std::byte* at = nullptr;
    EXPECT_TRUE(store.edit("cache", [&](const MutableTensorView& view) { at = view.data; }).ok());
    return at;
  }
  // Steps that write "k0" where an input says give what the reference gives, in the memory that the
  // state has from the beginning.
  void expect_updates_in_place(const std::string& input, std::vector<Tensor> where) {
    const auto reference = load_as(kernels::simd::Isa::kPlain, true);
    const auto fast = load_as(kernels::simd::supported_isas().back(), false);
    auto expected = reference->make_state();
    auto got = fast->make_state();
    const std::byte* const place = memory_of(**got);
    for (Tensor& at : where) {
      std::vector<Given> given;
      given.emplace_back(input, std::move(at));
      given.emplace_back("k0", random({1, kKvHeads, kTokens, kDim}));
      EXPECT_EQ(run(*fast, inputs_of(given), "y", got->get()),
                run(*reference, inputs_of(given), "y", expected->get()));
      EXPECT_EQ(to_floats((*got)->read("cache")->view()),
                to_floats((*expected)->read("cache")->view()));
      EXPECT_EQ(memory_of(**got), place);
    }
  }
};

// One rounding at the end instead of one after each operation: some halves of 2^-11.
constexpr double kTolerance = 4 * 0x1p-11;
const std::vector<std::string> kFused = {"cached_attention", "cached_attention"};

TEST_F(SlicedStates, AreAttendedToInPlace) {
  for (const bool five : {false, true})
    for (const bool before : {false, true}) {
      SCOPED_TRACE(five);
      SCOPED_TRACE(before);
      has_five_axes = five;
      reads_before_writing_back = before;
      build();
      expect_like_reference(kFused, {step(0), step(3), step(1), step(kContext - kTokens)},
                            kTolerance);
      const auto fast = load_as(kernels::simd::supported_isas().back(), false);
      const std::vector<std::string> steps = steps_of(*fast);
      for (const char* gone : {"read_state", "write_state", "slice_update", "slice_by_index"})
        EXPECT_EQ(std::ranges::count(steps, gone), 0) << gone;
    }
}

TEST_F(SlicedStates, KeepTheUpdatesThatOthersRead) {
  build(true);
  expect_like_reference(kFused, {step(0), step(3), step(1)}, kTolerance);
  const auto fast = load_as(kernels::simd::supported_isas().back(), false);
  const std::vector<std::string> steps = steps_of(*fast);
  EXPECT_EQ(std::ranges::count(steps, "slice_update in place"), 1);
  EXPECT_EQ(std::ranges::count(steps, "slice_update"), 0);
  EXPECT_EQ(std::ranges::count(steps, "slice_by_index"), 1);
}

// As PyTorch writes cache[row:row + 1, :, :context].
TEST_F(SlicedStates, MayBeReadInTwoSlices) {
  reads_in_two_slices = true;
  build();
  expect_like_reference(kFused, {step(0), step(3), step(1)}, kTolerance);
  const auto fast = load_as(kernels::simd::supported_isas().back(), false);
  const std::vector<std::string> steps = steps_of(*fast);
  for (const char* gone : {"read_state", "write_state", "slice_update", "slice_by_index"})
    EXPECT_EQ(std::ranges::count(steps, gone), 0) << gone;
}

// As the rule of slice_update says, in the reference and where it is part of an attention.
TEST_F(SlicedStates, TokensBeyondTheirEndAreRefused) {
  build();
  for (const bool is_reference : {true, false}) {
    const auto loaded = load_as(kernels::simd::supported_isas().back(), is_reference);
    auto states = loaded->make_state();
    for (const std::int32_t at :
         std::initializer_list<std::int32_t>{kRoom - kTokens + 1, kRoom, 1 << 30, -kRoom - 1, -1}) {
      const auto given = step(at);
      EXPECT_TRUE(run(*loaded, inputs_of(given), "y", states->get()).empty()) << at;
      EXPECT_EQ(status.code(), Code::kCorrupt) << at << ": " << status.message();
    }
    const auto given = step(kRoom - kTokens);
    EXPECT_FALSE(run(*loaded, inputs_of(given), "y", states->get()).empty()) << status.message();
  }
}

// Chunks of a text in one call, with and without an update that is kept.
TEST_F(SlicedStates, BatchesGiveTheBitsOfSingleRuns) {
  for (const bool others_read : {false, true}) {
    build(others_read);
    const std::vector<std::vector<Given>> steps = {step(0), step(3), step(6), step(2)};
    for (const kernels::simd::Isa isa : kernels::simd::supported_isas()) {
      const auto loaded = load_as(isa, false);
      auto one_by_one = loaded->make_state();
      auto together = loaded->make_state();
      std::vector<std::vector<float>> expected;
      std::vector<Inputs> inputs;
      std::vector<Outputs> outputs(steps.size());
      std::vector<BatchItem> items;
      for (const auto& given : steps) inputs.push_back(inputs_of(given));
      for (std::size_t i = 0; i < steps.size(); ++i) {
        expected.push_back(run(*loaded, inputs[i], "y", one_by_one->get()));
        items.push_back({&inputs[i], &outputs[i], together->get()});
      }
      status = loaded->run_batch("", items);
      ASSERT_TRUE(status.ok()) << status.message();
      for (std::size_t i = 0; i < steps.size(); ++i)
        EXPECT_EQ(to_floats(find_output(outputs[i], "y")->view()), expected[i]);
      const std::vector<float> stored = to_floats((*one_by_one)->read("cache")->view());
      EXPECT_EQ(to_floats((*together)->read("cache")->view()), stored);
      // Whether somebody reads the outputs makes no difference to the states.
      auto unread = loaded->make_state();
      for (std::size_t i = 0; i < items.size(); ++i) {
        items[i].states = unread->get();
        items[i].wants_outputs = i == 2;
      }
      status = loaded->run_batch("", items);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(to_floats(find_output(outputs[2], "y")->view()), expected[2]);
      EXPECT_EQ(to_floats((*unread)->read("cache")->view()), stored);
    }
  }
}

// Without an attention that is known, an update copies its tokens and nothing else.
TEST_F(SlicedStates, AreUpdatedInTheirMemory) {
  Builder b = function();
  begin(b);
  Value* k = b.input("k0", tokens_type());
  cache(b, 0, k);
  Value* row = cache(b, 2, b.op("mul", {{"x", k}, {"y", Literal::number(2, DType::kFp16)}}));
  Value* y =
      b.op("reduce_sum",
           {{"x", row}, {"axes", Literal::int32s({-1})}, {"keep_dims", Literal::boolean(true)}});
  b.rename(y, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  std::vector<Tensor> positions;
  for (const std::int32_t at : {0, 3, 1}) positions.push_back(ints({1}, {at}));
  expect_updates_in_place("position", std::move(positions));
}

// Caches that are written at indices: a step costs its tokens, not the cache. Their order is that
// of the indices, of which the last one counts where two are equal.
TEST_F(SlicedStates, AreScatteredToInTheirMemory) {
  const Shape shape = {1, kKvHeads, kRoom, kDim};
  for (const char* type : {"scatter", "scatter_nd", "scatter_along_axis"}) {
    SCOPED_TRACE(type);
    const bool is_nd = type == std::string("scatter_nd");
    const bool is_dense = type == std::string("scatter_along_axis");
    program = std::make_shared<Program>();
    Builder b = function();
    state = b.input("cache", Type::state(DType::kFp16, shape));
    stored = b.read_state(state, "stored");
    Shape where = {kTokens};
    if (is_nd) where = {1, kKvHeads, kTokens, 3};  // batch, head, position
    if (is_dense) where = {1, kKvHeads, kTokens, kDim};
    std::vector<Builder::Input> arguments = {
        {"data", stored},
        {"indices", b.input("at", Type::tensor(DType::kInt32, where))},
        {"updates", b.input("k0", tokens_type())},
        {"mode", Literal::text("update")},
        {"validate_indices", Literal::boolean(false)}};
    if (!is_nd) arguments.push_back({"axis", Literal::int32(2)});
    b.write_state(state, b.op(type, arguments), "write");
    Value* y = b.op("reduce_sum", {{"x", b.read_state(state, "after")},
                                   {"axes", Literal::int32s({-1})},
                                   {"keep_dims", Literal::boolean(true)}});
    b.rename(y, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
    std::vector<Tensor> indices;
    for (const std::vector<std::int32_t>& positions :
         {std::vector{0, 1, 2}, {3, 4, 4}, {15, -2, 0}}) {
      std::vector<std::int32_t> at = positions;
      if (is_nd || is_dense) at.clear();
      for (std::int32_t head = 0; head < kKvHeads; ++head)
        for (const std::int32_t position : positions) {
          if (is_nd) at.insert(at.end(), {0, head, position});
          if (is_dense) at.insert(at.end(), kDim, position);
        }
      indices.push_back(ints(where, at));
    }
    expect_updates_in_place("at", std::move(indices));
  }
}

// What was read stays what it was, however late it is used, and so does a state that is not written
// back.
TEST_F(SlicedStates, AreCopiedWhereTheOldValueIsUsed) {
  for (const bool writes : {true, false}) {
    program = std::make_shared<Program>();
    Builder b = function();
    begin(b);
    Value* old = stored;
    Value* updated = update(b, old, 1, b.input("k0", tokens_type()));
    if (writes) b.write_state(state, updated, "write");
    Value* y = b.op("sub", {{"x", seen(b, updated, 1)}, {"y", seen(b, old, 1)}});
    b.rename(y, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
    const auto reference = load_as(kernels::simd::Isa::kPlain, true);
    const auto fast = load_as(kernels::simd::supported_isas().back(), false);
    auto expected = reference->make_state();
    auto got = fast->make_state();
    for (const std::int32_t at : {0, 2}) {
      std::vector<Given> given;
      given.emplace_back("position", ints({1}, {at}));
      given.emplace_back("k0", random({1, kKvHeads, kTokens, kDim}));
      EXPECT_EQ(run(*fast, inputs_of(given), "y", got->get()),
                run(*reference, inputs_of(given), "y", expected->get()));
      EXPECT_EQ(to_floats((*got)->read("cache")->view()),
                to_floats((*expected)->read("cache")->view()));
    }
  }
}

}  // namespace
}  // namespace anemone::exec
