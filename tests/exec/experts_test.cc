// SPDX-License-Identifier: Apache-2.0
// Sparse mixtures of experts: against the operations that they stand for, and what they read.
#include <set>

#include "tests/exec/fusion_fixture.h"

namespace anemone::exec {
namespace {

constexpr std::int64_t kChannels = 64;
constexpr std::int64_t kWidth = 32;
constexpr std::int64_t kExperts = 5;
constexpr std::int64_t kExpertBytes = 3 * kWidth * kChannels + 2 * (2 * kWidth + kChannels);

struct Mixture : FusionFixture {
  Value* int8(Builder& b, std::int64_t rows, std::int64_t columns) {
    Tensor data(DType::kInt8, {rows, columns, 1, 1});
    for (std::byte& byte : data.mutable_view().bytes())
      byte = static_cast<std::byte>(engine() >> 9);
    return b.constexpr_op("constexpr_blockwise_shift_scale",
                          {{"data", Literal::of(std::move(data))},
                           {"scale", random_literal({rows, 1, 1, 1}, 0x1p-9f)}},
                          "weight");
  }

  // y = sum of weights[e] * expert e of x, over int8 weights with a scale per row, of the first
  // `count` experts.
  void build_convolutions(std::int64_t tokens, bool has_addend, bool is_shown = false,
                          std::size_t count = kExperts) {
    program = std::make_shared<Program>();
    Builder b = function();
    Value* x = b.input("x", half({1, kChannels, tokens, 1}));
    Value* weights = b.input("weights", half({1, kExperts, tokens, 1}));
    const auto split = [&](Value* value, std::vector<std::int32_t> sizes) {
      const std::size_t count = sizes.size();
      return b.ops("split",
                   {{"x", value},
                    {"split_sizes", Literal::int32s(std::move(sizes))},
                    {"axis", Literal::int32(1)}},
                   count);
    };
    auto one = split(weights, std::vector<std::int32_t>(kExperts, 1));
    one.resize(count);
    Value* sum = has_addend ? x : nullptr;
    Value* shown = nullptr;
    for (const Value* weight : one) {
      Value* gate_up = b.op("conv", {{"x", x}, {"weight", int8(b, 2 * kWidth, kChannels)}});
      const auto halves = split(gate_up, {kWidth, kWidth});
      Value* gate = b.op("silu", {{"x", halves[0]}});
      Value* product = b.op("mul", {{"x", gate}, {"y", halves[1]}});
      Value* out = b.op("conv", {{"x", product}, {"weight", int8(b, kChannels, kWidth)}});
      if (shown == nullptr) shown = out;
      Value* weighed = b.op("mul", {{"x", out}, {"y", const_cast<Value*>(weight)}});
      sum = sum == nullptr ? weighed : b.op("add", {{"x", sum}, {"y", weighed}});
    }
    b.rename(sum, "y");
    std::vector<Value*> outputs = {sum};
    if (is_shown) outputs.push_back(shown);
    ASSERT_TRUE(b.finish(outputs).ok()) << b.status().message();
  }

  // Two experts for each token, and token 2 has none; expert 3 has no token.
  Tensor routing(std::int64_t tokens) {
    std::vector<float> values(static_cast<std::size_t>(kExperts * tokens), 0.0f);
    for (std::int64_t t = 0; t < tokens; ++t) {
      if (t == 2) continue;
      for (const std::int64_t e : active_of(t))
        values[static_cast<std::size_t>(e * tokens + t)] =
            0.25f + static_cast<float>(engine() >> 24) / 512.0f;
    }
    Tensor out(DType::kFp16, {1, kExperts, tokens, 1});
    store_floats(values, out.mutable_view());
    return out;
  }
  static std::set<std::int64_t> active_of(std::int64_t token) {
    const std::int64_t pairs[][2] = {{0, 1}, {1, 4}, {0, 4}, {2, 0}};
    const auto& pair = pairs[token % 4];
    return {pair[0], pair[1]};
  }
  std::vector<Given> step(std::int64_t tokens) {
    return {{"x", random({1, kChannels, tokens, 1})}, {"weights", routing(tokens)}};
  }
};

TEST_F(Mixture, OfConvolutionsIsLikeTheReference) {
  for (const bool has_addend : {false, true})
    for (const std::int64_t tokens : {1, 3, 9, 40}) {
      SCOPED_TRACE(tokens);
      build_convolutions(tokens, has_addend);
      expect_like_reference({"experts"}, {step(tokens), step(tokens)}, kManyRoundings);
    }
}

// Part of a mixture, as in a shard that has a few of many experts: the sum goes on.
TEST_F(Mixture, OfOneExpertAndASumIsLikeTheReference) {
  for (const std::int64_t tokens : {1, 9}) {
    SCOPED_TRACE(tokens);
    build_convolutions(tokens, true, false, 1);
    expect_like_reference({"experts"}, {step(tokens), step(tokens)}, kManyRoundings);
  }
}

// A shard that ends after the first expert: there is no sum yet.
TEST_F(Mixture, ReadsTheFirstExpertWhereItIsActive) {
  for (const std::int64_t tokens : {1, 9}) {
    SCOPED_TRACE(tokens);
    build_convolutions(tokens, false, false, 1);
    expect_like_reference({"experts"}, {step(tokens), step(tokens)}, kManyRoundings);
    const auto loaded = load_as(kernels::simd::supported_isas().back(), false);
    ASSERT_NE(loaded, nullptr);
    for (const bool is_active : {false, true}) {
      ASSERT_TRUE(set_timed(*loaded, true).ok());
      Tensor weights(DType::kFp16, {1, kExperts, tokens, 1});
      std::vector<float> values(static_cast<std::size_t>(kExperts * tokens), 0.5f);
      if (!is_active) std::fill_n(values.begin(), tokens, 0.0f);
      store_floats(values, weights.mutable_view());
      const Tensor x = random({1, kChannels, tokens, 1});
      run(*loaded, {{"x", x.view()}, {"weights", weights.view()}}, "y");
      ASSERT_TRUE(status.ok()) << status.message();
      const auto steps = explain(*loaded);
      ASSERT_TRUE(steps.ok());
      EXPECT_EQ(steps->back().weight_bytes, is_active ? kExpertBytes : 0);
      EXPECT_EQ(steps->back().experts, kExperts);
    }
  }
}

// LoadOptions::when_first_run: the functions of packages of experts.
TEST_F(Mixture, MadeRunnableWhenItFirstRunsGivesTheSameBits) {
  build_convolutions(3, false);
  LoadOptions options;
  options.when_first_run = true;
  const auto now = load_program(program);
  const auto later = load_program(program, {}, options);
  ASSERT_TRUE(now.ok() && later.ok());
  const auto given = step(3);
  const Inputs inputs = {{"x", given[0].tensor.view()}, {"weights", given[1].tensor.view()}};
  Outputs expected;
  Outputs got;
  const std::string& name = (*later)->default_function();
  ASSERT_TRUE((*now)->run(name, inputs, expected, nullptr).ok());
  ASSERT_TRUE((*later)->run(name, inputs, got, nullptr).ok());
  EXPECT_EQ(to_floats(got.front().tensor.view()), to_floats(expected.front().tensor.view()));
  EXPECT_EQ((*later)->signature(name)->inputs.size(), 2U);
  EXPECT_TRUE(explain(**later, name).ok());
  EXPECT_EQ((*later)->signature("other"), nullptr);
  EXPECT_EQ((*later)->run("other", inputs, got, nullptr).code(), Code::kNotFound);
}

// The graph as PyTorch writes it: channels last, gate and up apart, biases, a clamped activation.
TEST_F(Mixture, OfLinearLayersIsLikeTheReference) {
  for (const std::int64_t tokens : {1, 6, 21}) {
    SCOPED_TRACE(tokens);
    program = std::make_shared<Program>();
    Builder b = function();
    Value* x = b.input("x", half({1, tokens, kChannels}));
    Value* weights = b.input("weights", half({1, tokens, kExperts}));
    const auto linear = [&](Value* in, std::int64_t rows, std::int64_t columns) {
      return b.op("linear", {{"x", in},
                             {"weight", random_literal({rows, columns}, 0.25f)},
                             {"bias", random_literal({rows})}});
    };
    Value* sum = nullptr;
    for (std::int32_t e = 0; e < kExperts; ++e) {
      const auto last = static_cast<std::int32_t>(tokens);
      Value* weight = b.op("slice_by_index", {{"x", weights},
                                              {"begin", Literal::int32s({0, 0, e})},
                                              {"end", Literal::int32s({1, last, e + 1})}});
      Value* gate = linear(x, kWidth, kChannels);
      Value* up = linear(x, kWidth, kChannels);
      gate = b.op("minimum", {{"x", gate}, {"y", Literal::number(0.5, DType::kFp16)}});
      Value* sigmoid =
          b.op("sigmoid",
               {{"x", b.op("mul", {{"x", gate}, {"y", Literal::number(1.702, DType::kFp16)}})}});
      up = b.op("add", {{"x", up}, {"y", Literal::number(1, DType::kFp16)}});
      Value* product = b.op("mul", {{"x", up}, {"y", b.op("mul", {{"x", gate}, {"y", sigmoid}})}});
      Value* weighed = b.op("mul", {{"x", weight}, {"y", linear(product, kChannels, kWidth)}});
      sum = sum == nullptr ? weighed : b.op("add", {{"x", weighed}, {"y", sum}});
    }
    b.rename(sum, "y");
    ASSERT_TRUE(b.finish({sum}).ok()) << b.status().message();
    Tensor routed(DType::kFp16, {1, tokens, kExperts});
    std::vector<float> values(static_cast<std::size_t>(tokens * kExperts), 0.0f);
    for (std::size_t i = 0; i < values.size(); i += 2) values[i] = 0.5f;
    store_floats(values, routed.mutable_view());
    expect_like_reference({"experts"},
                          {{{"x", random({1, tokens, kChannels})}, {"weights", std::move(routed)}}},
                          kManyRoundings);
  }
}

// Padding has weights for experts, too, since it goes through the router.
TEST_F(Mixture, ReadsNoExpertForPadding) {
  constexpr std::int64_t kTokens = 8;
  build_convolutions(kTokens, false);
  const auto loaded = load_as(kernels::simd::supported_isas().back(), false);
  ASSERT_NE(loaded, nullptr);
  const auto given = step(kTokens);
  const Inputs inputs = {{"x", given[0].tensor.view()}, {"weights", given[1].tensor.view()}};
  const auto whole = run(*loaded, inputs, "y");
  ASSERT_TRUE(set_timed(*loaded, true).ok());
  Outputs outputs;
  const StepFacts facts = {.position = 0, .count = 1, .tokens = kTokens};
  const BatchItem item = {&inputs, &outputs, nullptr, &facts};
  ASSERT_TRUE(loaded->run_batch("", {&item, 1}).ok());
  const auto steps = explain(*loaded);
  ASSERT_TRUE(steps.ok());
  EXPECT_EQ(steps->back().weight_bytes,
            static_cast<std::int64_t>(active_of(0).size()) * kExpertBytes);
  const auto got = to_floats(find_output(outputs, "y")->view());
  for (std::int64_t c = 0; c < kChannels; ++c)
    EXPECT_EQ(got[static_cast<std::size_t>(c * kTokens)],
              whole[static_cast<std::size_t>(c * kTokens)]);
}

// The weights of experts without a token are not read, the others once for all tokens.
TEST_F(Mixture, ReadsTheExpertsThatHaveATokenOnce) {
  for (const std::int64_t tokens : {1, 2, 32}) {
    SCOPED_TRACE(tokens);
    build_convolutions(tokens, false);
    const auto loaded = load_as(kernels::simd::supported_isas().back(), false);
    ASSERT_NE(loaded, nullptr);
    const auto bytes = [&] {
      const auto steps = explain(*loaded);
      EXPECT_TRUE(steps.ok());
      return steps->back().weight_bytes;
    };
    // Nothing in the program says how many are active per token.
    EXPECT_EQ(bytes(), kExperts * kExpertBytes);
    ASSERT_TRUE(set_timed(*loaded, true).ok());
    const auto given = step(tokens);
    run(*loaded, {{"x", given[0].tensor.view()}, {"weights", given[1].tensor.view()}}, "y");
    ASSERT_TRUE(status.ok()) << status.message();
    std::set<std::int64_t> experts;
    for (std::int64_t t = 0; t < tokens; ++t)
      if (t != 2) experts.merge(active_of(t));
    EXPECT_EQ(bytes(), static_cast<std::int64_t>(experts.size()) * kExpertBytes);
    EXPECT_LT(experts.size(), kExperts);
  }
}

// Each of 32 streams that decode together has other active experts.
TEST_F(Mixture, GivesARunTheSameBitsInAnyCompany) {
  for (const std::int64_t tokens : {1, 8}) {
    build_convolutions(tokens, true);
    std::vector<std::vector<Given>> steps;
    for (std::int64_t i = 0; i < 32; ++i) {
      auto& given = steps.emplace_back();
      given.emplace_back("x", random({1, kChannels, tokens, 1}));
      std::vector<float> values(static_cast<std::size_t>(kExperts * tokens), 0.0f);
      for (std::int64_t t = 0; t < tokens; ++t)
        for (const std::int64_t e : active_of(i + t))
          values[static_cast<std::size_t>(e * tokens + t)] = 0.5f + 0.125f * static_cast<float>(e);
      Tensor weights(DType::kFp16, {1, kExperts, tokens, 1});
      store_floats(values, weights.mutable_view());
      given.emplace_back("weights", std::move(weights));
    }
    expect_batches_like_single_runs(steps);
  }
}

TEST_F(Mixture, StaysAsItIsWhereAnExpertsOutputIsLookedAt) {
  build_convolutions(4, false, true);
  const auto loaded = load_as(kernels::simd::Isa::kPlain, false);
  ASSERT_NE(loaded, nullptr);
  const auto names = fused(*loaded);
  EXPECT_EQ(std::ranges::count(names, "experts"), 0);
  EXPECT_EQ(std::ranges::count(names, "projection"), 2 * kExperts);
}

// Terms of one row, and of one token, broadcast in the sum: they are no terms of a mixture.
TEST_F(Mixture, OfTermsThatBroadcastIsLeftAlone) {
  struct Sizes {
    std::int64_t rows, other_rows, tokens;
  };
  constexpr std::int64_t kTokens = 3;
  for (const Sizes& sizes : {Sizes{1, 4096, kTokens}, {4096, 1, kTokens}, {8, 8, 1}}) {
    program = std::make_shared<Program>();
    Builder b = function();
    Value* x = b.input("x", half({1, sizes.tokens, 8}));
    const auto linear = [&](Value* in, std::int64_t rows) {
      return b.op("linear", {{"x", in}, {"weight", random_literal({rows, 8})}});
    };
    Value* weight = b.input("weight", half({1, kTokens, 1}));
    Value* sum = nullptr;
    for (const std::int64_t rows : {sizes.rows, sizes.other_rows}) {
      Value* gate = b.op("silu", {{"x", linear(x, 8)}});
      Value* product = b.op("mul", {{"x", gate}, {"y", linear(x, 8)}});
      Value* term = b.op("mul", {{"x", linear(product, rows)}, {"y", weight}});
      sum = sum == nullptr ? term : b.op("add", {{"x", sum}, {"y", term}});
    }
    b.rename(sum, "y");
    ASSERT_TRUE(b.finish({sum}).ok()) << b.status().message();
    const auto loaded = load();
    ASSERT_NE(loaded, nullptr);
    EXPECT_EQ(std::ranges::count(fused(*loaded), "experts"), 0);
    const Tensor x_value = random({1, sizes.tokens, 8});
    const Tensor weight_value = random({1, kTokens, 1});
    const Inputs inputs = {{"x", x_value.view()}, {"weight", weight_value.view()}};
    const auto got = run(*loaded, inputs, "y");
    ASSERT_TRUE(status.ok()) << status.message();
    const auto reference = load_as(kernels::simd::Isa::kPlain, true);
    expect_near(got, run(*reference, inputs, "y"), kManyRoundings);
    options.is_reference = false;
  }
}

struct TopK : FusionFixture {
  void build(std::int64_t count, std::int64_t tokens, float k) {
    program = std::make_shared<Program>();
    Builder b = function();
    Value* scores = b.input("scores", half({1, count, tokens, 1}));
    Value* other =
        b.op("transpose", {{"x", scores}, {"perm", Literal::int32s({0, 3, 2, 1})}}, "other");
    const auto compare = [&](std::string_view op) {
      return b.op("cast", {{"x", b.op(op, {{"x", other}, {"y", scores}})},
                           {"dtype", Literal::text("fp16")}});
    };
    std::vector<float> before;
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t j = 0; j < count; ++j) before.push_back(j < i ? 1.0f : 0.0f);
    Tensor earlier(DType::kFp16, {1, count, 1, count});
    store_floats(before, earlier.mutable_view());
    Value* tied = b.op("mul", {{"x", compare("equal")}, {"y", Literal::of(std::move(earlier))}});
    Value* rank = b.op("reduce_sum", {{"x", b.op("add", {{"x", compare("greater")}, {"y", tied}})},
                                      {"axes", Literal::int32s({-1})},
                                      {"keep_dims", Literal::boolean(true)}});
    Value* active = b.op("less", {{"x", rank}, {"y", Literal::number(k, DType::kFp16)}});
    Value* y = b.op("select", {{"cond", active}, {"a", scores}, {"b", random_literal({1})}}, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  }
};

TEST_F(TopK, CountsEqualScoresInTheirOrder) {
  for (const std::int64_t count : {1, 7, 40})
    for (const float k : {1.0f, 2.5f, 4.0f, 50.0f}) {
      build(count, 6, k);
      Tensor scores(DType::kFp16, {1, count, 6, 1});
      std::vector<float> values;
      for (std::int64_t i = 0; i < count * 6; ++i)
        values.push_back(static_cast<float>(engine() % 5) - 2.0f);
      values.front() = 65504.0f;
      store_floats(values, scores.mutable_view());
      expect_like_reference({"top_k_mask"}, {{{"scores", std::move(scores)}}}, 0);
    }
}

}  // namespace
}  // namespace anemone::exec
