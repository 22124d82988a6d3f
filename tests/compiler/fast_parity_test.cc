// SPDX-License-Identifier: Apache-2.0
// The fast CPU path on every instruction set of this machine, against the reference interpreter.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <span>

#include "engine/session/session.h"
#include "exec/cpu/cpu_program.h"
#include "exec/profile.h"
#include "kernels/simd/isa.h"
#include "tests/compiler/golden.h"
#include "tests/exec/memory_checker.h"
#include "tests/support/cosine.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

// The gate that the default path has to hold: activations in fp16 cost no more than this, against
// fp32 ones. Float weights are the same in both but for a rounding of 2^-12.
constexpr double kLeastCosine = 0.9999;
// Quantized weights are the same in packages of the same precision only, and there the reference
// rounds after every operation: this is its noise.
constexpr double kLeastCosineInHalves = 0.9995;
// A cosine of 0.9995 allows errors of 3.2 % of the logits' root mean square: a lead of several
// times that must keep its token.
constexpr double kClearLead = 0.15;
// Share of positions whose active experts may differ, each of which is printed. When the scores of
// two experts lie closer together than the noise, a token goes through the other one: its logits
// differ, but they are not wrong.
constexpr double kMaxOtherExperts = 0.1;
constexpr std::size_t kSteps = 8;

class FastParity : public ::testing::TestWithParam<Checkpoint> {
 protected:
  void SetUp() override {
    if (!is_present(GetParam())) GTEST_SKIP() << "absent: " << GetParam().path;
    golden_ = read_golden(GetParam());
  }

  // Tests run beside each other, so each has one thread.
  static std::shared_ptr<const engine::Model> load(const std::string& folder,
                                                   const std::string& isa) {
    return load_model(folder, isa, /*threads=*/1);
  }

  // The answer of the reference executor for the same recipe with fp32 activations.
  Answer run_exactly(CompileOptions options) {
    options.precision = DType::kFp32;
    const auto model = compiled_model(GetParam(), options);
    return model == nullptr ? Answer() : run_greedily(model, golden_.prompt, kSteps);
  }

  void expect_close(const std::vector<float>& got, const std::vector<float>& expected,
                    double least_cosine) const {
    ASSERT_EQ(got.size(), expected.size());
    const std::size_t vocab = golden_.vocab_size;
    std::size_t other_experts = 0;
    for (std::size_t row = 0; row < got.size(); row += vocab) {
      const double cosine = anemone::testing::cosine(std::span(got).subspan(row, vocab),
                                                     std::span(expected).subspan(row, vocab));
      if (has_experts(GetParam()) && cosine < least_cosine) {
        std::printf("%s: other experts at position %zu, cosine %.5f\n", GetParam().name.c_str(),
                    row / vocab, cosine);
        ++other_experts;
        continue;
      }
      EXPECT_GE(cosine, least_cosine) << "position " << row / vocab;
      const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(row);
      const auto end = begin + static_cast<std::ptrdiff_t>(vocab);
      const auto top = std::max_element(begin, end);
      float second = -INFINITY;
      double square = 0;
      for (auto it = begin; it != end; ++it) {
        square += double{*it} * double{*it};
        if (it != top) second = std::max(second, *it);
      }
      const double lead = static_cast<double>(*top - second);
      if (lead < kClearLead * std::sqrt(square / static_cast<double>(vocab))) continue;
      const auto got_begin = got.begin() + static_cast<std::ptrdiff_t>(row);
      const auto got_top =
          std::max_element(got_begin, got_begin + static_cast<std::ptrdiff_t>(vocab));
      EXPECT_EQ(got_top - got_begin, top - begin) << "position " << row / vocab;
      ++clear_leads_;
    }
    EXPECT_LE(static_cast<double>(other_experts * vocab),
              kMaxOtherExperts * static_cast<double>(got.size()));
    EXPECT_GT(clear_leads_, 0) << "no position tells whether tokens are kept";
  }

  Golden golden_;
  mutable int clear_leads_ = 0;
};

// The default instruction set and one of the others, by `turn` and the checkpoint: over all
// checkpoints every turn meets every one. Kernels are compared with their oracles on all of them.
std::vector<std::string> fast_isas(const Checkpoint& checkpoint, std::size_t turn) {
  const auto isas = kernels::simd::supported_isas();
  std::vector<std::string> names = {std::string(kernels::simd::isa_name(isas.back()))};
  if (isas.size() == 1) return names;
  const auto all = checkpoints_with_every_block();
  const auto place = std::ranges::find(all, checkpoint.name, &Checkpoint::name) - all.begin();
  const std::size_t other = (static_cast<std::size_t>(place) + turn) % (isas.size() - 1);
  names.emplace_back(kernels::simd::isa_name(isas[other]));
  return names;
}

TEST_P(FastParity, EverySchemeOnEveryInstructionSet) {
  std::size_t turn = 0;
  for (const std::string_view scheme : recipe_names()) {
    CompileOptions options;
    options.recipe = *parse_recipe(scheme);
    options.recipe.quant.threshold = 0;
    options.context = 64;
    options.prefill = 16;
    const bool is_exact = scheme == "none";
    const std::string folder = compiled_folder(GetParam(), options);
    const Answer expected =
        is_exact ? run_exactly(options)
                 : run_greedily(compiled_model(GetParam(), options), golden_.prompt, kSteps);
    for (const std::string& isa : fast_isas(GetParam(), turn++)) {
      SCOPED_TRACE(fmt::format("{} on {}", scheme, isa));
      const auto fast = load(folder, isa);
      ASSERT_NE(fast, nullptr);
      const Answer got = run_greedily(fast, golden_.prompt, kSteps);
      expect_close(got.logits, expected.logits, is_exact ? kLeastCosine : kLeastCosineInHalves);
    }
  }
}

// Forms whose graphs differ: tiers, flexible widths, the other layout, fp32 with its own caches.
TEST_P(FastParity, EveryForm) {
  std::vector<CompileOptions> forms(8);
  forms[0].tiers = {16, 40};
  forms[1].range_dim = true;
  forms[2].form.layout = artifact::HiddenLayout::kTokensInWidth;
  forms[3].precision = DType::kFp32;
  forms[4].form.cache = artifact::CacheForm::kReadOnly;
  forms[4].form.recurrent = artifact::RecurrentForm::kTensors;
  forms[4].form.softplus = artifact::SoftplusForm::kArithmetic;
  forms[4].form.taps = artifact::TapsForm::kArithmetic;
  forms[4].form.routing = artifact::RoutingForm::kArithmetic;
  forms[4].form.logits = artifact::LogitsLayout::kLast;
  forms[5].form.cache = artifact::CacheForm::kSlice;
  forms[5].form.layout = artifact::HiddenLayout::kTokensInWidth;
  forms[6].form.cache = artifact::CacheForm::kSlice;
  forms[6].precision = DType::kFp32;
  forms[7].form.cache = artifact::CacheForm::kGrowing;
  for (CompileOptions& options : forms) {
    options.recipe.quant.scheme = quant::Scheme::kNone;
    options.context = 64;
    options.prefill = 16;
    const Answer expected = run_exactly(options);
    const auto fast = load(compiled_folder(GetParam(), options), "");
    ASSERT_NE(fast, nullptr);
    const Answer got = run_greedily(fast, golden_.prompt, kSteps);
    expect_close(got.logits, expected.logits, kLeastCosine);
  }
}

// One operation attends to the past and the step in one order of sums, however the cache is kept.
TEST_P(FastParity, EveryFormOfCachesGivesTheBitsOfBlendedOnes) {
  const auto answer = [&](artifact::CacheForm cache, const std::vector<std::int64_t>& tiers,
                          DType precision = DType::kFp16,
                          artifact::PastForm past = artifact::PastForm::kWhole) {
    CompileOptions options{.precision = precision};
    options.form.past = past;
    options.recipe.quant.scheme = quant::Scheme::kNone;
    options.context = 64;
    options.prefill = 16;
    options.tiers = tiers;
    options.form.cache = cache;
    const auto model = load(compiled_folder(GetParam(), options), "");
    return model == nullptr ? Answer() : run_greedily(model, golden_.prompt, kSteps);
  };
  // In fp32 both have one product with all positions.
  EXPECT_TRUE(answer(artifact::CacheForm::kSlice, {}, DType::kFp32).logits ==
              answer(artifact::CacheForm::kBlend, {}, DType::kFp32).logits);
  const Answer blended = answer(artifact::CacheForm::kBlend, {});
  ASSERT_FALSE(blended.logits.empty());
  for (const std::vector<std::int64_t>& tiers : {std::vector<std::int64_t>{}, {19, 40}}) {
    const Answer appended = answer(artifact::CacheForm::kReadOnly, tiers);
    // Windows of 6 to 11 tokens, which the prompt leaves behind.
    const Answer windowed =
        answer(artifact::CacheForm::kReadOnly, tiers, DType::kFp16, artifact::PastForm::kWindow);
    EXPECT_TRUE(windowed.logits == appended.logits);
    EXPECT_EQ(windowed.continuation, appended.continuation);
    const Answer sliced = answer(artifact::CacheForm::kSlice, tiers);
    EXPECT_EQ(appended.continuation, blended.continuation);
    EXPECT_TRUE(sliced.logits == appended.logits);
    // Layers that attend to the cache of another one are no single operation with blended caches
    // alone: those are rounded in between.
    if (GetParam().name == "tiny_gemma4_text")
      expect_close(appended.logits, blended.logits, kLeastCosine);
    else
      EXPECT_TRUE(appended.logits == blended.logits);
  }
}

// One function for any number of tokens is planned for each number of them as if it were fixed.
TEST_P(FastParity, AFlexibleFunctionHasThePlanOfAFixedOne) {
  CompileOptions options;
  options.recipe.quant.scheme = quant::Scheme::kNone;
  options.context = 64;
  options.prefill = 16;
  const auto fixed = load(compiled_folder(GetParam(), options), "");
  options.range_dim = true;
  const auto flexible = load(compiled_folder(GetParam(), options), "");
  ASSERT_TRUE(fixed != nullptr && flexible != nullptr);
  const Answer expected = run_greedily(fixed, golden_.prompt, kSteps);
  const Answer got = run_greedily(flexible, golden_.prompt, kSteps);
  expect_close(got.logits, expected.logits, kLeastCosine);
  for (std::size_t s = 0; s < fixed->manifest().shards.size(); ++s)
    EXPECT_EQ(plan_steps(flexible->shard(s)), plan_steps(fixed->shard(s))) << s;
}

void check_memory(const exec::LoadedProgram& program, std::size_t& values) {
  const auto* cpu = dynamic_cast<const exec::CpuProgram*>(&program);
  ASSERT_NE(cpu, nullptr);
  for (const std::string& function : program.functions()) {
    SCOPED_TRACE(function);
    const auto plan = cpu->plan(function);
    ASSERT_TRUE(plan.ok());
    exec::MemoryChecker checker((*plan)->function());
    checker.run();
    values += checker.values();
    // What memory_plan.h promises of these models.
    const exec::MemoryPlan& memory = (*plan)->function().memory;
    EXPECT_LE(4 * memory.arena_bytes, 5 * memory.least_bytes);
  }
}

TEST_P(FastParity, ValuesThatLiveTogetherLieApart) {
  CompileOptions options;
  options.context = 64;
  options.prefill = 16;
  const std::string folder = compiled_folder(GetParam(), options);
  for (const char* isa : {"", "reference"}) {
    SCOPED_TRACE(isa);
    const auto model = load(folder, isa);
    ASSERT_NE(model, nullptr);
    std::size_t values = 0;
    for (std::size_t s = 0; s < model->manifest().shards.size(); ++s)
      check_memory(model->shard(s), values);
    for (std::size_t p = 0; p < model->head_packages().size(); ++p)
      check_memory(model->head_program(p), values);
    EXPECT_GT(values, 10U);
  }
}

class FastExperts : public FastParity {};

// Bytes of experts that a token reads, by the plans of all shards; without those that all tokens
// take, where they are a step of their own.
std::int64_t expert_bytes(const engine::Model& model) {
  exec::ExpertsOfLayers experts;
  std::int64_t bytes = 0;
  for (std::size_t s = 0; s < model.manifest().shards.size(); ++s) {
    auto steps = exec::explain(model.shard(s), "decode");
    EXPECT_TRUE(steps.ok());
    if (!steps.ok()) continue;
    for (exec::PlanStep& step : *steps) {
      experts.apply(step);
      if (step.experts > 1) bytes += step.weight_bytes;
    }
  }
  return bytes;
}

// Packages that have a part of a layer; only their active experts run, too.
TEST_P(FastExperts, AreRunInLayersThatAreCut) {
  for (const char* size : {"1KB", "6KB"}) {
    CompileOptions options;
    options.recipe.quant.threshold = 0;
    options.context = 64;
    options.prefill = 16;
    const Answer expected =
        run_greedily(compiled_model(GetParam(), options), golden_.prompt, kSteps);
    const auto whole_bytes =
        static_cast<double>(expert_bytes(*load(compiled_folder(GetParam(), options), "")));
    options.packages.layers = size;
    const auto fast = load(compiled_folder(GetParam(), options), "");
    ASSERT_NE(fast, nullptr);
    const Answer got = run_greedily(fast, golden_.prompt, kSteps);
    expect_close(got.logits, expected.logits, kLeastCosineInHalves);
    const auto runs_experts = [&](const exec::PlanStep& step) { return step.name == "experts"; };
    std::size_t shards = 0;
    for (std::size_t s = 0; s < fast->manifest().shards.size(); ++s) {
      const auto steps = exec::explain(fast->shard(s), "decode");
      ASSERT_TRUE(steps.ok());
      if (std::ranges::any_of(*steps, runs_experts)) ++shards;
    }
    EXPECT_GT(shards, 0U) << size;
    // Each package counts the bytes of its active experts, even if it has one expert alone. With
    // two of five experts active, one that is missing is a fifth less, and one that is always read
    // is 0.3 more. Whole layers take one for all tokens as another to choose from: 6 / 5 at most.
    const double ratio = static_cast<double>(expert_bytes(*fast)) / whole_bytes;
    EXPECT_GE(ratio, 0.9) << size;
    EXPECT_LE(ratio, 1.25) << size;
  }
}

// What the threads do does not change a bit.
TEST_P(FastParity, AnyNumberOfThreadsGivesTheSameBits) {
  CompileOptions options;
  options.recipe.quant.threshold = 0;
  options.context = 64;
  options.prefill = 16;
  const std::string folder = compiled_folder(GetParam(), options);
  std::vector<float> first;
  for (const int threads : {1, 2, 5}) {
    const auto model = load_model(folder, {}, threads);
    ASSERT_NE(model, nullptr);
    const Answer answer = run_greedily(model, golden_.prompt, kSteps);
    if (first.empty()) first = answer.logits;
    EXPECT_TRUE(answer.logits == first) << threads << " threads";
  }
}

// Chunks of a prompt that go through the packages together, and sessions that decode together, give
// the bits of those that do so one by one.
TEST_P(FastParity, WhatRunsTogetherGivesTheSameBits) {
  std::size_t turn = 0;
  struct Form {
    const char* scheme;
    artifact::ExpertsForm experts;
  };
  for (const auto& [scheme, experts] : {Form{"int8-channel", artifact::ExpertsForm::kDense},
                                        Form{"int4-block", artifact::ExpertsForm::kDense},
                                        Form{"none", artifact::ExpertsForm::kDense},
                                        Form{"int8-channel", artifact::ExpertsForm::kPacks}}) {
    if (experts == artifact::ExpertsForm::kPacks && !has_experts(GetParam())) continue;
    CompileOptions options;
    options.form.experts = experts;
    options.recipe = *parse_recipe(scheme);
    options.recipe.quant.threshold = 0;
    options.context = 64;
    options.prefill = 8;
    const std::string folder = compiled_folder(GetParam(), options);
    for (const std::string& isa : fast_isas(GetParam(), turn++)) {
      SCOPED_TRACE(fmt::format("{} on {}", scheme, isa));
      const auto model = load(folder, isa);
      ASSERT_NE(model, nullptr);
      std::vector<std::unique_ptr<engine::Session>> together;
      std::vector<std::unique_ptr<engine::Session>> alone;
      std::vector<engine::DecodeStep> steps;
      for (std::int32_t i = 0; i < 9; ++i) {
        std::vector<std::int32_t> prompt(static_cast<std::size_t>(30 + i));
        for (std::size_t t = 0; t < prompt.size(); ++t)
          prompt[t] = static_cast<std::int32_t>(t * 7 + 3) % 40 + i;
        for (auto* sessions : {&together, &alone}) {
          auto session = engine::Session::create(model);
          ASSERT_TRUE(session.ok());
          sessions->push_back(std::move(*session));
        }
        ASSERT_TRUE(together.back()->prefill(prompt).ok());
        // Chunk by chunk.
        for (std::size_t at = 0; at < prompt.size(); at += 8)
          ASSERT_TRUE(alone.back()
                          ->prefill(std::span(prompt).subspan(
                              at, std::min<std::size_t>(8, prompt.size() - at)))
                          .ok());
        ASSERT_TRUE(std::ranges::equal(together.back()->logits(), alone.back()->logits()))
            << "prompt of " << prompt.size();
        steps.push_back({together.back().get(), 5 + i});
      }
      const Status status = engine::decode_batch(steps);
      ASSERT_TRUE(status.ok()) << status.message();
      for (std::size_t i = 0; i < steps.size(); ++i) {
        ASSERT_TRUE(alone[i]->decode(steps[i].id).ok());
        ASSERT_TRUE(std::ranges::equal(together[i]->logits(), alone[i]->logits()))
            << "stream " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, FastExperts, ::testing::ValuesIn(tiny_checkpoints_with_experts()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(, FastParity, ::testing::ValuesIn(checkpoints_with_every_block()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace anemone::compiler::testing
