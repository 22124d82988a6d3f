// SPDX-License-Identifier: Apache-2.0
// Attention over caches that the caller owns gives the bits of attention over states, whatever
// form the cache has in the program, and whoever keeps it from step to step.
#include "exec/cache_binding.h"

#include <algorithm>
#include <array>
#include <set>

#include "exec/cpu/cpu_program.h"
#include "exec/profile.h"
#include "tests/exec/cache_binding_fixture.h"
#include "tests/support/sanitized.h"

namespace anemone::exec {
namespace {

// A program that has `run` alone, as one of an executor that knows nothing of bindings.
class PlainProgram : public LoadedProgram {
 public:
  explicit PlainProgram(std::shared_ptr<const LoadedProgram> inner) : inner_(std::move(inner)) {}
  const std::vector<std::string>& functions() const override { return inner_->functions(); }
  const std::string& default_function() const override { return inner_->default_function(); }
  const Signature* signature(std::string_view function) const override {
    return inner_->signature(function);
  }
  Result<std::unique_ptr<StateStore>> make_state() const override { return inner_->make_state(); }
  Status run(std::string_view function, const Inputs& inputs, Outputs& outputs,
             StateStore* states) const override {
    return inner_->run(function, inputs, outputs, states);
  }

 private:
  std::shared_ptr<const LoadedProgram> inner_;
};

// Chunks in one call, a chunk that is not full, single tokens, in a tier and in the whole context,
// over the border between them, with a window.
const std::vector<BoundCaches::Step> kConversation = {
    {"prefill_tier", 4, 10, 0, 4},   {"prefill_tier", 4, 10, 4, 3}, {"decode_tier", 1, 10, 7, 1},
    {"decode_tier", 1, 10, 8, 1, 3}, {"prefill", 4, 24, 9, 4},      {"prefill", 4, 24, 13, 4, 5},
    {"prefill", 4, 24, 17, 2},       {"decode", 1, 24, 19, 1},      {"decode", 1, 24, 20, 1, 2},
};

TEST_F(BoundCaches, EveryFormGivesTheBitsOfStates) {
  for (const auto& [isa, is_reference] : engines()) {
    SCOPED_TRACE(is_reference ? "reference" : std::string(kernels::simd::isa_name(isa)));
    const auto states = load_form(Form::kStates, 24, 10, isa, is_reference);
    ASSERT_NE(states, nullptr);
    const Answer expected = go(Form::kStates, *states, kConversation, 24);
    ASSERT_EQ(expected.y.size(), kConversation.size());
    for (const Form form : {Form::kReplace, Form::kAppend}) {
      SCOPED_TRACE(static_cast<int>(form));
      const auto loaded = load_form(form, 24, 10, isa, is_reference);
      ASSERT_NE(loaded, nullptr);
      for (const std::string& function : loaded->functions()) {
        EXPECT_EQ(loaded->mask_inputs(function).empty(), is_reference) << function;
        const auto steps = explain(*loaded, function);
        ASSERT_TRUE(steps.ok());
        EXPECT_EQ(std::ranges::count(*steps, "cached_attention", &PlanStep::name),
                  is_reference ? 0 : 1)
            << function;
      }
      expect_same(go(form, *loaded, kConversation, 24), expected);
      if (is_reference) expect_same(go(form, PlainProgram(loaded), kConversation, 24), expected);
    }
  }
}

TEST_F(BoundCaches, RunsWhoseOutputsNobodyWantsStoreTheSame) {
  std::vector<Step> some_unread = kConversation;
  for (std::size_t i = 0; i < some_unread.size(); ++i)
    some_unread[i].wants_outputs = i == 1 || i == 5 || i + 1 == some_unread.size();
  for (const auto& [isa, is_reference] : engines()) {
    SCOPED_TRACE(is_reference ? "reference" : std::string(kernels::simd::isa_name(isa)));
    for (const Form form : {Form::kStates, Form::kReplace, Form::kAppend}) {
      SCOPED_TRACE(static_cast<int>(form));
      const auto loaded = load_form(form, 24, 10, isa, is_reference);
      ASSERT_NE(loaded, nullptr);
      Answer expected = go(form, *loaded, kConversation, 24);
      ASSERT_EQ(expected.y.size(), some_unread.size());
      for (std::size_t i = 0; i < some_unread.size(); ++i)
        if (!some_unread[i].wants_outputs) expected.y[i].clear();
      expect_same(go(form, *loaded, some_unread, 24), expected);
    }
  }
}

// In one call with others that do, of two layers with one cache. Later steps may store where
// earlier ones have stored.
TEST_F(BoundCaches, RunsWhoseOutputsNobodyWantsStoreTheSameBesideOthers) {
  has_second_layer = true;
  const auto loaded =
      load_form(Form::kAppend, 24, 10, kernels::simd::supported_isas().back(), false);
  ASSERT_NE(loaded, nullptr);
  const auto steps = explain(*loaded, "prefill");
  ASSERT_TRUE(steps.ok());
  ASSERT_EQ(std::ranges::count(*steps, "cached_attention", &PlanStep::name), 2);
  const auto prefill = [](std::int64_t position, std::int64_t count) {
    return Step{"prefill", 4, 24, position, count};
  };
  for (const auto& all :
       {std::vector{prefill(0, 4), prefill(4, 4), prefill(8, 4), prefill(12, 3), prefill(15, 4)},
        std::vector{prefill(0, 4), prefill(2, 4), prefill(2, 3), prefill(0, 4), prefill(4, 4)}}) {
    const Answer read = go(Form::kAppend, *loaded, all, 24);
    const Answer in_turn = go(Form::kAppend, PlainProgram(loaded), all, 24);
    EXPECT_EQ(in_turn.keys, read.keys);
    EXPECT_EQ(in_turn.values, read.values);
    for (unsigned wanted = 0; wanted < 1U << all.size(); ++wanted) {
      SCOPED_TRACE(wanted);
      std::vector<Step> some = all;
      Answer expected = read;
      for (std::size_t i = 0; i < all.size(); ++i) {
        some[i].wants_outputs = (wanted >> i & 1U) != 0;
        if (!some[i].wants_outputs) expected.y[i].clear();
      }
      expect_same(go(Form::kAppend, *loaded, some, 24), expected);
    }
  }
}

TEST_F(BoundCaches, RunsWhoseOutputsNobodyWantsLeaveOutWhatOnlyTheyNeed) {
  for (const Form form : {Form::kStates, Form::kReplace, Form::kAppend}) {
    SCOPED_TRACE(static_cast<int>(form));
    const auto loaded = load_form(form, 24, 10, kernels::simd::supported_isas().back(), false);
    ASSERT_NE(loaded, nullptr);
    ASSERT_TRUE(set_timed(*loaded, true).ok());
    const std::vector<Step> unread = {{"prefill", 4, 24, 0, 4, 0, false},
                                      {"prefill", 4, 24, 4, 4, 0, false}};
    go(form, *loaded, unread, 24);
    const auto steps = explain(*loaded, "prefill");
    ASSERT_TRUE(steps.ok());
    std::size_t stored = 0;
    for (const PlanStep& step : *steps) {
      const bool was_run = step.seconds > 0;
      const bool makes_rows = step.operation == "keys_new" || step.operation == "values_new";
      if (step.operation == "y" || makes_rows || step.name == "cached_attention") {
        EXPECT_EQ(was_run, step.operation != "y") << step.operation;
      }
      stored += makes_rows ? 1 : 0;
    }
    EXPECT_EQ(stored, 2U);
    EXPECT_EQ(std::ranges::count(*steps, "y", &PlanStep::operation), 1);
  }
}

// A function that takes no more of a cache than the window of its layer gives what one for the
// whole context gives.
TEST_F(BoundCaches, TheLastPositionsAreEnoughForAWindow) {
  constexpr std::int64_t kWindow = 6;
  const auto windowed = [](std::int64_t past) {
    return std::vector<Step>{{"prefill", 4, past, 0, 4, kWindow},
                             {"prefill", 4, past, 4, 3, kWindow},
                             {"decode", 1, past, 7, 1, kWindow},
                             {"prefill", 4, past, 8, 4, kWindow},
                             {"decode", 1, past, 12, 1, kWindow}};
  };
  for (const auto& [isa, is_reference] : engines()) {
    SCOPED_TRACE(is_reference ? "reference" : std::string(kernels::simd::isa_name(isa)));
    const auto make_program = [&](std::int64_t past) {
      program = std::make_shared<Program>();
      add("prefill", Form::kAppend, 4, past, 24);
      add("decode", Form::kAppend, 1, past, 24);
    };
    make_program(24);
    const auto whole = load_as(isa, is_reference);
    make_program(kWindow);
    const auto last = load_as(isa, is_reference);
    ASSERT_TRUE(whole != nullptr && last != nullptr);
    const Answer expected = go(Form::kAppend, *whole, windowed(24), 24);
    const Answer got = go(Form::kAppend, *last, windowed(kWindow), 24);
    expect_same(got, expected);
    // A mask without a window would show what the function does not take.
    if (is_reference) continue;
    Made made;
    make(Form::kAppend, {"decode", 1, kWindow, 12, 1}, *last, 3, made);
    Tensor keys(DType::kFp16, {1, kCacheHeads, 24, kHeadDim});
    Tensor values = keys.clone();
    const CacheBinding bindings[] = {
        {"keys", "keys_new", CacheBinding::Kind::kAppend, &keys, 12, 1, kWindow},
        {"values", "values_new", CacheBinding::Kind::kAppend, &values, 12, 1, kWindow}};
    Outputs outputs;
    const BatchItem item{&made.inputs, &outputs, nullptr, &made.facts, bindings};
    EXPECT_EQ(last->run_batch("decode", std::span(&item, 1)).code(), Code::kInvalidArgument);
  }
}

// A function that leaves the length of the past open takes as much of a cache as the caller says,
// and gives what one for the whole context gives. The fast one has the same plan for all lengths.
TEST_F(BoundCaches, APastOfAnyLengthIsAsGoodAsTheWholeContext) {
  const auto steps = [](const std::vector<std::int64_t>& pasts) {
    return std::vector<Step>{{"prefill", 4, pasts[0], 0, 4},    {"prefill", 4, pasts[1], 4, 3},
                             {"decode", 1, pasts[2], 7, 1},     {"decode", 1, pasts[3], 8, 1, 3},
                             {"prefill", 4, pasts[4], 9, 4, 5}, {"decode", 1, pasts[5], 13, 1}};
  };
  for (const auto& [isa, is_reference] : engines()) {
    SCOPED_TRACE(is_reference ? "reference" : std::string(kernels::simd::isa_name(isa)));
    const auto make_program = [&](std::int64_t context) {
      program = std::make_shared<Program>();
      interface = {};
      add("prefill", Form::kAppend, 4, context, 24);
      add("decode", Form::kAppend, 1, context, 24);
    };
    make_program(24);
    const auto whole = load_as(isa, is_reference);
    make_program(kDynamic);
    const auto open = load_as(isa, is_reference);
    ASSERT_TRUE(whole != nullptr && open != nullptr);
    const Answer expected = go(Form::kAppend, *whole, steps(std::vector<std::int64_t>(6, 24)), 24);
    ASSERT_EQ(expected.y.size(), 6U);
    const auto* cpu = dynamic_cast<const CpuProgram*>(open.get());
    ASSERT_NE(cpu, nullptr);
    std::set<const ExecutionPlan*> plans;
    for (const auto& pasts : {std::vector<std::int64_t>{1, 4, 8, 8, 16, 16}, {3, 5, 7, 9, 9, 24}}) {
      expect_same(go(Form::kAppend, *open, steps(pasts), 24), expected);
      plans.insert(cpu->plan("decode")->get());
      if (is_reference)
        expect_same(go(Form::kAppend, PlainProgram(open), steps(pasts), 24), expected);
    }
    EXPECT_EQ(plans.size(), 1U);
  }
}

TEST_F(BoundCaches, APastThatIsOpenHasLimits) {
  program = std::make_shared<Program>();
  add("decode", Form::kAppend, 1, kDynamic, 24);
  const auto loaded = load_as(kernels::simd::Isa::kPlain, false);
  ASSERT_NE(loaded, nullptr);
  Tensor cache(DType::kFp16, {1, kCacheHeads, 30, kHeadDim});
  const auto check = [&](std::int64_t position, std::int64_t past) {
    return check_binding(
               *loaded->signature("decode"),
               {"keys", "keys_new", CacheBinding::Kind::kAppend, &cache, position, 1, 0, past})
        .message();
  };
  EXPECT_EQ(check(0, 1), "");
  EXPECT_EQ(check(24, 24), "");
  EXPECT_EQ(check(0, 0), "[keys] expected shape [1, 2, 1..24, 8], got [1, 2, 0, 8]");
  EXPECT_EQ(check(0, 25), "[keys] expected shape [1, 2, 1..24, 8], got [1, 2, 25, 8]");
  EXPECT_EQ(check(9, 8),
            "[keys] expected rows that fit into 30 positions, got 1 rows from position 9");
}

// Tensors in the place of bindings, for a caller that keeps the caches itself.
TEST_F(BoundCaches, TensorsGoInAndOutAsTheProgramSays) {
  for (const Form form : {Form::kReplace, Form::kAppend}) {
    const auto reference = load_form(form, 12, 6, kernels::simd::Isa::kPlain, true);
    for (const auto isa : kernels::simd::supported_isas()) {
      const auto fast = load_form(form, 12, 6, isa, false);
      ASSERT_TRUE(reference != nullptr && fast != nullptr);
      Made made;
      make(form, {"prefill", 4, 12, 5, 3}, *reference, 3, made);
      const Tensor keys = random({1, kCacheHeads, 12, kHeadDim});
      const Tensor values = random({1, kCacheHeads, 12, kHeadDim});
      made.inputs.push_back({"keys", keys.view()});
      made.inputs.push_back({"values", values.view()});
      const std::string output = form == Form::kReplace ? "values_new_cache" : "values_new";
      const auto expected = run(*reference, made.inputs, "y", nullptr, "prefill");
      const auto expected_values = run(*reference, made.inputs, output, nullptr, "prefill");
      ASSERT_TRUE(status.ok()) << status.message();
      expect_near(run(*fast, made.inputs, "y", nullptr, "prefill"), expected, kManyRoundings);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(run(*fast, made.inputs, output, nullptr, "prefill"), expected_values);
    }
  }
}

// A run whose caches are bound gives none of the caches that the run before it gave as tensors.
TEST_F(BoundCaches, AreNoOutputsAfterARunWithTensors) {
  const auto loaded = load_form(Form::kReplace, 12, 6, kernels::simd::best_isa(), false);
  const auto reference = load_form(Form::kReplace, 12, 6, kernels::simd::Isa::kPlain, true);
  ASSERT_TRUE(loaded != nullptr && reference != nullptr);
  Made made;
  make(Form::kReplace, {"prefill", 4, 12, 5, 3}, *reference, 3, made);  // masks are tensors
  Tensor keys = random({1, kCacheHeads, 12, kHeadDim});
  Tensor values = random({1, kCacheHeads, 12, kHeadDim});
  Inputs with_caches = made.inputs;
  with_caches.push_back({"keys", keys.view()});
  with_caches.push_back({"values", values.view()});
  Outputs given;
  ASSERT_TRUE(loaded->run("prefill", with_caches, given, nullptr).ok());
  EXPECT_EQ(given.size(), 3U);

  const auto kind = CacheBinding::Kind::kReplace;
  const CacheBinding bindings[] = {{"keys", "keys_new_cache", kind, &keys, 5, 3},
                                   {"values", "values_new_cache", kind, &values, 5, 3}};
  Outputs outputs;
  BatchItem item{&made.inputs, &outputs};
  item.caches = bindings;
  ASSERT_TRUE(loaded->run_batch("prefill", {&item, 1}).ok());
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0].name, "y");
  EXPECT_EQ(to_floats(outputs[0].tensor.view()), to_floats(find_output(given, "y")->view()));
}

// Positions that no token has reached are not in memory, neither before nor after a step.
TEST_F(BoundCaches, PagesOfUnusedPositionsAreNotTouched) {
  if (anemone::testing::resident_bytes() == 0) GTEST_SKIP() << "no /proc";
  if (anemone::testing::kIsSanitized) GTEST_SKIP() << "a sanitizer's shadow is resident, too";
  constexpr std::int64_t kFew = 64;
  constexpr std::int64_t kMany = 1 << 20;  // 32 MB in each cache
  for (const Form form : {Form::kStates, Form::kReplace, Form::kAppend}) {
    SCOPED_TRACE(static_cast<int>(form));
    // What the code takes once, whatever the number of positions, is there before it is measured.
    resident_after_steps(form, kFew);
    const std::size_t before = resident_after_steps(form, kFew);
    EXPECT_LT(resident_after_steps(form, kMany), before + (std::size_t{4} << 20));
  }
}

// An operation that reads the rows before the step would find those of the step among them.
TEST_F(BoundCaches, AttentionIsNotFusedWhereOthersReadThePast) {
  for (const bool is_shared : {false, true}) {
    has_other_reader = is_shared;
    program = std::make_shared<Program>();
    add("main", Form::kAppend, 2, 8, 8);
    const auto loaded = load_as(kernels::simd::supported_isas().back(), false);
    ASSERT_NE(loaded, nullptr);
    const auto steps = explain(*loaded, "main");
    ASSERT_TRUE(steps.ok());
    EXPECT_EQ(std::ranges::count(*steps, "cached_attention", &PlanStep::name), is_shared ? 0 : 1);
  }
}

TEST_F(BoundCaches, BindingsThatDoNotFitAreRefused) {
  const auto loaded = load_form(Form::kAppend, 12, 6, kernels::simd::Isa::kPlain, false);
  ASSERT_NE(loaded, nullptr);
  const Signature& signature = *loaded->signature("decode");
  Tensor cache(DType::kFp16, {1, kCacheHeads, 14, kHeadDim});
  Tensor floats(DType::kFp32, {1, kCacheHeads, 14, kHeadDim});
  Tensor small(DType::kFp16, {1, kCacheHeads, 11, kHeadDim});
  using Kind = CacheBinding::Kind;
  const auto check = [&](CacheBinding binding) {
    return check_binding(signature, binding).message();
  };
  EXPECT_EQ(check({"keys", "keys_new", Kind::kAppend, &cache, 12, 2}), "");
  // The last 12 positions before the step are enough for windows of 13.
  EXPECT_EQ(check({"keys", "keys_new", Kind::kAppend, &cache, 13, 1, 13}), "");
  EXPECT_NE(check({"keys", "keys_new", Kind::kAppend, &cache, 13, 1, 14}), "");
  EXPECT_NE(check({"keys", "keys_old", Kind::kAppend, &cache, 0, 1}).find("got none"),
            std::string::npos);
  EXPECT_NE(check({"keys", "keys_new", Kind::kAppend, nullptr, 0, 1}).find("got none"),
            std::string::npos);
  EXPECT_EQ(check({"keys", "keys_new", Kind::kAppend, &floats, 0, 1}),
            "[keys] expected a cache of fp16, got fp32");
  EXPECT_NE(check({"keys", "keys_new", Kind::kAppend, &small, 0, 1}).find("at least the positions"),
            std::string::npos);
  EXPECT_NE(check({"keys", "keys_new", Kind::kReplace, &cache, 0, 1}).find("expected shape"),
            std::string::npos);
  for (const auto& [position, count] :
       std::vector<std::array<std::int64_t, 2>>{{13, 1}, {-1, 1}, {12, 3}, {0, -1}})
    EXPECT_EQ(
        check({"keys", "keys_new", Kind::kAppend, &cache, position, count}),
        fmt::format("[keys] expected rows that fit into 14 positions, got {} rows from position {}",
                    count, position));
}

// Facts that the caches begin where they do not would have the attention look at other rows.
TEST_F(BoundCaches, FactsAboutAppendedRowsNeedTheCachesThatTheyAreAbout) {
  const auto loaded = load_form(Form::kAppend, 12, 6, kernels::simd::Isa::kPlain, false);
  ASSERT_NE(loaded, nullptr);
  Made made;
  make(Form::kAppend, {"decode", 1, 12, 5, 1}, *loaded, 3, made);
  ASSERT_EQ(made.masks.size(), 1U);
  Tensor keys(DType::kFp16, {1, kCacheHeads, 12, kHeadDim});
  Tensor values = keys.clone();
  using Kind = CacheBinding::Kind;
  std::vector<CacheBinding> bindings = {{"keys", "keys_new", Kind::kAppend, &keys, 5, 1},
                                        {"values", "values_new", Kind::kAppend, &values, 5, 1}};
  Outputs outputs;
  BatchItem item{&made.inputs, &outputs, nullptr, &made.facts, bindings};
  EXPECT_EQ(loaded->run_batch("decode", {&item, 1}).message(), "");
  bindings[1].position = 4;
  EXPECT_NE(loaded->run_batch("decode", {&item, 1}).message().find("takes no such fact"),
            std::string::npos);
  made.inputs.push_back({"values", values.view()});
  bindings.pop_back();
  item.caches = bindings;
  EXPECT_NE(loaded->run_batch("decode", {&item, 1}).message().find("takes no such fact"),
            std::string::npos);
}

}  // namespace
}  // namespace anemone::exec
