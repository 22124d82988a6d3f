// SPDX-License-Identifier: Apache-2.0
// Attention over states: the fast path reads what the masks say, and must do so for any mask.
#include <array>

#include "tests/exec/cached_attention_fixture.h"

namespace anemone::exec {
namespace {

TEST_F(CachedAttention, StepByStep) {
  build(1);
  std::vector<std::vector<Given>> steps;
  for (std::int64_t position = 0; position < kPositions; ++position)
    steps.push_back(step(1, position));
  expect_like_reference({"cached_attention"}, steps, kManyRoundings);
}

// As packages of others write one token: cache * (1 - mask) + token * mask.
TEST_F(CachedAttention, OneTokenMayBeMultiplied) {
  multiplies_one_token = true;
  build(1);
  expect_like_reference({"cached_attention"}, {step(1, 0), step(1, 1), step(1, 5), step(1, 1)},
                        kManyRoundings);
}

// How a text is split into steps does not show: over several blocks of positions, for functions of
// one token and of many, on each instruction set.
TEST_F(CachedAttention, OneTokenGivesTheBitsOfMany) {
  constexpr std::int64_t kTokens = 40;
  positions = 200;
  dim = 64;
  state_shape = {1, kKvHeads, positions, dim};
  std::vector<std::vector<Given>> steps;
  for (std::int64_t position = 0; position < positions; position += kTokens)
    steps.push_back(step(kTokens, position, 150));
  // Token t of a tensor [1, heads, kTokens, dim].
  const auto token_of = [&](const Tensor& all, std::int64_t t) {
    const std::int64_t heads = all.shape()[1];
    Tensor one(DType::kFp16, {1, heads, 1, dim});
    for (std::int64_t h = 0; h < heads; ++h)
      std::copy_n(all.view().as<Half>().data() + (h * kTokens + t) * dim, dim, &at(one, h * dim));
    return one;
  };
  for (const kernels::simd::Isa isa : kernels::simd::supported_isas()) {
    SCOPED_TRACE(std::string(kernels::simd::isa_name(isa)));
    program = std::make_shared<Program>();
    build(kTokens);
    const auto many = load_as(isa, false);
    program = std::make_shared<Program>();
    build(1);
    const auto one = load_as(isa, false);
    ASSERT_TRUE(many != nullptr && one != nullptr);
    auto state_of_many = many->make_state();
    auto state_of_one = one->make_state();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      Inputs inputs;
      for (const Given& given : steps[i]) inputs.push_back({given.name, given.tensor.view()});
      const auto expected = run(*many, inputs, "y", state_of_many->get());
      ASSERT_TRUE(status.ok()) << status.message();
      for (std::int64_t t = 0; t < kTokens; ++t) {
        auto given = step(1, static_cast<std::int64_t>(i) * kTokens + t, 150);
        for (std::size_t operand = 0; operand < 3; ++operand)
          given[operand].tensor = token_of(steps[i][operand].tensor, t);
        inputs.clear();
        for (const Given& of : given) inputs.push_back({of.name, of.tensor.view()});
        const auto got = run(*one, inputs, "y", state_of_one->get());
        ASSERT_TRUE(status.ok()) << status.message();
        for (std::int64_t h = 0; h < kHeads; ++h)
          for (std::int64_t d = 0; d < dim; ++d)
            ASSERT_EQ(got[static_cast<std::size_t>(h * dim + d)],
                      expected[static_cast<std::size_t>((h * kTokens + t) * dim + d)])
                << "step " << i << ", token " << t << ", head " << h;
      }
    }
  }
}

// Facts in the place of both masks give the bits of the masks.
TEST_F(CachedAttention, TakesFactsForMasks) {
  for (const std::int32_t tokens : {1, 4, 12}) {
    SCOPED_TRACE(tokens);
    program = std::make_shared<Program>();
    build(tokens);
    for (const kernels::simd::Isa isa : kernels::simd::supported_isas()) {
      const auto loaded = load_as(isa, false);
      ASSERT_NE(loaded, nullptr);
      EXPECT_EQ(loaded->mask_inputs(""), (std::vector<std::string>{"write", "look"}));
      auto by_mask = loaded->make_state();
      auto by_fact = loaded->make_state();
      for (std::int64_t position = 0; position + tokens <= kPositions; position += tokens) {
        const std::int64_t window = position % 2 == 0 ? 99 : 3;
        const auto given = step(tokens, position, window);
        Inputs inputs;
        for (const Given& one : given) inputs.push_back({one.name, one.tensor.view()});
        const auto expected = run(*loaded, inputs, "y", by_mask->get());
        ASSERT_TRUE(status.ok()) << status.message();
        inputs.resize(3);
        const MaskFact masks[] = {{.input = "look", .window = window},
                                  {.input = "write", .role = MaskFact::Role::kWrite}};
        const StepFacts facts{position, tokens, tokens, masks};
        Outputs outputs;
        const BatchItem item{&inputs, &outputs, by_fact->get(), &facts};
        const Status got = loaded->run_batch("", {&item, 1});
        ASSERT_TRUE(got.ok()) << got.message();
        EXPECT_EQ(to_floats(find_output(outputs, "y")->view()), expected);
        EXPECT_EQ(to_floats((*by_fact)->read("keys")->view()),
                  to_floats((*by_mask)->read("keys")->view()));
      }
    }
  }
}

TEST_F(CachedAttention, RefusesFactsThatAreNotOfItsMasks) {
  build(2);
  const auto loaded = load();
  auto states = loaded->make_state();
  const auto given = step(2, 0);
  Inputs inputs;
  for (std::size_t i = 0; i < 4; ++i)
    if (i != 3) inputs.push_back({given[i].name, given[i].tensor.view()});
  const auto message = [&](std::int64_t position, std::int64_t count, std::int64_t tokens,
                           MaskFact::Role look, const LoadedProgram& of) {
    const MaskFact masks[] = {{.input = "look", .role = look},
                              {.input = "write", .role = MaskFact::Role::kWrite}};
    const StepFacts facts{position, count, tokens, masks};
    Outputs outputs;
    const BatchItem item{&inputs, &outputs, states->get(), &facts};
    return of.run_batch("", {&item, 1}).message();
  };
  using Role = MaskFact::Role;
  EXPECT_EQ(message(10, 2, 2, Role::kAttention, *loaded), "");
  for (const auto& [position, count, tokens] : std::vector<std::array<std::int64_t, 3>>{
           {11, 2, 2}, {-1, 2, 2}, {0, 0, 2}, {0, 3, 2}, {0, 1, 1}, {INT64_MAX, 1, 2}})
    EXPECT_NE(message(position, count, tokens, Role::kAttention, *loaded)
                  .find("expected a step of at most 2 tokens within 12 positions"),
              std::string::npos);
  EXPECT_EQ(message(0, 2, 2, Role::kWrite, *loaded),
            "[look] expected a tensor, since the function takes no such fact");
  // The reference computes with masks as the program says it.
  const auto reference = load_as(kernels::simd::Isa::kPlain, true);
  EXPECT_TRUE(reference->mask_inputs("").empty());
  EXPECT_NE(message(0, 2, 2, Role::kAttention, *reference).find("takes no such fact"),
            std::string::npos);
}

// An operation that is no attention looks at the mask, too.
TEST_F(CachedAttention, AMaskWithAnotherUseIsATensor) {
  Builder b = function();
  Value* y = attention(b, 2);
  b.rename(y, "y");
  Value* look = nullptr;
  for (const auto& input : b.function().inputs)
    if (input->name == "look") look = input;
  ASSERT_NE(look, nullptr);
  Value* other = b.op("softmax", {{"x", look}, {"axis", Literal::int32(-1)}}, "other");
  ASSERT_TRUE(b.finish({y, other}).ok()) << b.status().message();
  const auto loaded = load();
  EXPECT_EQ(loaded->mask_inputs(""), std::vector<std::string>{"write"});
}

TEST_F(CachedAttention, CostsWhatAllPositionsCost) {
  build(3);
  const auto steps = explain(*load());
  ASSERT_TRUE(steps.ok());
  const auto it = std::ranges::find_if(*steps, [](const PlanStep& step) { return step.is_fused; });
  ASSERT_NE(it, steps->end());
  EXPECT_EQ(it->state_bytes, 2 * kKvHeads * kPositions * kDim * 2);
  EXPECT_EQ(it->flops, 4 * kHeads * 3 * kDim * kPositions);
}

TEST_F(CachedAttention, InChunksAndWindows) {
  build(4);
  std::vector<std::vector<Given>> steps;
  steps.push_back(step(4, 0));
  steps.push_back(step(4, 4, 3));
  steps.push_back(step(4, 8, 1));
  expect_like_reference({"cached_attention"}, steps, kManyRoundings);
}

TEST_F(CachedAttention, SinksJoinTheScores) {
  has_sinks = true;
  for (const std::int32_t tokens : {1, 3, 12}) {
    SCOPED_TRACE(tokens);
    program = std::make_shared<Program>();
    build(tokens);
    std::vector<std::vector<Given>> steps;
    for (std::int64_t position = 0; position + tokens <= kPositions; position += tokens)
      steps.push_back(step(tokens, position, position == 3 ? 2 : 99));
    auto soft = step(tokens, kPositions - tokens);
    for (std::int64_t i = 0; i < tokens * kPositions; ++i)
      at(soft[4].tensor, i) = to_half(static_cast<float>(i % 5) * -0.3f);
    steps.push_back(std::move(soft));
    expect_like_reference({"cached_attention"}, steps, kManyRoundings);
  }
}

// What is read of a smaller state broadcasts, what is written must not go beyond it.
TEST_F(CachedAttention, AStateOfAnotherSizeIsNotWrittenInPlace) {
  is_open = true;
  for (const Shape& shape : {Shape{1, 1, 1, 1}, Shape{1, kKvHeads, 1, kDim}}) {
    program = std::make_shared<Program>();
    state_shape = shape;
    build(2);
    const auto given = step(2, 1);
    Inputs inputs;
    for (const Given& one : given) inputs.push_back({one.name, one.tensor.view()});
    for (const bool is_reference : {true, false}) {
      const auto loaded = load_as(kernels::simd::supported_isas().back(), is_reference);
      ASSERT_NE(loaded, nullptr);
      EXPECT_EQ(std::ranges::count(fused(*loaded), "cached_attention"), 0);
      auto states = loaded->make_state();
      ASSERT_TRUE(states.ok());
      run(*loaded, inputs, "y", states->get());
      EXPECT_EQ(status.code(), Code::kCorrupt) << status.message();
    }
  }
}

// One sink for all heads, which are the first dimension of the scores.
TEST_F(CachedAttention, SinksThatBroadcastAreLeftAlone) {
  has_sinks = true;
  has_heads_first = true;
  build(1);
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(std::ranges::count(fused(*loaded), "cached_attention"), 0);
}

TEST_F(CachedAttention, OfNoTokens) {
  build(0);
  std::vector<std::vector<Given>> steps;
  steps.push_back(step(0, 0));
  expect_like_reference(std::vector<std::string>(4, "chain"), steps, 0);
}

// A token that is stored nowhere, as those that fill a chunk up.
TEST_F(CachedAttention, TokensThatAreNotStored) {
  build(4);
  auto given = step(4, 2);
  for (std::int64_t s = 0; s < kPositions; ++s) at(given[3].tensor, s * 4 + 3) = Half{};
  std::vector<std::vector<Given>> steps;
  steps.push_back(std::move(given));
  expect_like_reference({"cached_attention"}, steps, kManyRoundings);
}

// Masks that are no runs and writes that are no copies are computed with as they are.
TEST_F(CachedAttention, AnyMask) {
  build(3);
  auto holes = step(3, 4);
  at(holes[4].tensor, 2) = to_half(-1e4f);
  auto soft = step(3, 5);
  for (std::int64_t i = 0; i < 3 * kPositions; ++i)
    at(soft[4].tensor, i) = to_half(static_cast<float>(i % 5) * -0.3f);
  auto blend = step(3, 6);
  at(blend[3].tensor, 0) = to_half(0.5f);
  at(blend[3].tensor, 4) = to_half(0.25f);
  std::vector<std::vector<Given>> steps;
  steps.push_back(step(3, 0));
  steps.push_back(std::move(holes));
  steps.push_back(std::move(soft));
  steps.push_back(std::move(blend));
  expect_like_reference({"cached_attention"}, steps, kManyRoundings);
}

// Masks that the program computes are not looked into.
TEST_F(CachedAttention, MasksThatAreComputedAreLeftAlone) {
  program = std::make_shared<Program>();
  Builder b = function();
  Value* soft = b.input("soft", half({1, 1, kPositions, 1}));
  Value* y = attention(b, 1, b.op("ceil", {{"x", soft}}));
  b.rename(y, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  auto given = step(1, 2);
  given[3].name = "soft";
  std::vector<std::vector<Given>> steps;
  steps.push_back(std::move(given));
  expect_like_reference({"chain", "chain", "chain", "chain", "chain", "chain", "softmax"}, steps,
                        kManyRoundings);
}

// An operation after it fails: the states are as before.
TEST_F(CachedAttention, StatesOfAFailedRunAreGoodAfterAReset) {
  Builder b = function();
  Value* y = attention(b, 2);
  Value* index = b.input("index", Type::tensor(DType::kInt32, {1}));
  y = b.op("gather",
           {{"x", y},
            {"indices", index},
            {"axis", Literal::int32(1)},
            {"validate_indices", Literal::boolean(true)}},
           "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  const auto loaded = load();
  ASSERT_EQ(fused(*loaded), std::vector<std::string>{"cached_attention"});
  auto states = loaded->make_state();
  ASSERT_TRUE(states.ok());
  const auto go = [&](std::int64_t position, std::int32_t chosen) {
    const auto given = step(2, position);
    const Tensor choice = ints({1}, {chosen});
    Inputs inputs = {{"index", choice.view()}};
    for (const Given& one : given) inputs.push_back({one.name, one.tensor.view()});
    run(*loaded, inputs, "y", states->get());
    return status.ok();
  };
  engine.seed(3);
  ASSERT_TRUE(go(0, 0)) << status.message();
  const Tensor wanted = *(*states)->read("keys");
  EXPECT_FALSE(go(1, 77));
  (*states)->reset();
  engine.seed(3);
  EXPECT_TRUE(go(0, 0)) << status.message();
  EXPECT_EQ(to_floats((*states)->read("keys")->view()), to_floats(wanted.view()));
}

// Another function has made both states the same memory; writing one must not change the other.
TEST_F(CachedAttention, StatesThatWereSetToOneValueStayApart) {
  build(1);
  Builder b = function("both");
  Value* x = b.input("x", half({1, kKvHeads, kPositions, kDim}));
  for (const char* name : {"keys", "values"}) {
    Value* state = b.input(name, Type::state(DType::kFp16, {1, kKvHeads, kPositions, kDim}));
    Value* value = b.op("add", {{"x", x}, {"y", x}}, "doubled");
    b.write_state(state, value, std::string(name) + "_set");
  }
  Value* y = b.op("relu", {{"x", x}}, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  const auto loaded = load();
  auto states = loaded->make_state();
  const Tensor x_value = random({1, kKvHeads, kPositions, kDim});
  run(*loaded, {{"x", x_value.view()}}, "y", states->get(), "both");
  ASSERT_TRUE(status.ok()) << status.message();
  const auto given = step(1, 3);
  Inputs inputs;
  for (const Given& one : given) inputs.push_back({one.name, one.tensor.view()});
  run(*loaded, inputs, "y", states->get(), "main");
  ASSERT_TRUE(status.ok()) << status.message();
  const auto keys = to_floats((*states)->read("keys")->view());
  const auto values = to_floats((*states)->read("values")->view());
  const auto k = to_floats(given[1].tensor.view());
  const auto v = to_floats(given[2].tensor.view());
  for (std::size_t d = 0; d < static_cast<std::size_t>(kDim); ++d) {
    EXPECT_EQ(keys[3 * static_cast<std::size_t>(kDim) + d], k[d]);
    EXPECT_EQ(values[3 * static_cast<std::size_t>(kDim) + d], v[d]);
  }
}

}  // namespace
}  // namespace anemone::exec
