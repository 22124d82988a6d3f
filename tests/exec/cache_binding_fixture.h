// SPDX-License-Identifier: Apache-2.0
// Attention over a cache in each form that a program can have it in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exec/cache_binding.h"
#include "exec/cpu/prepare.h"
#include "tests/exec/fusion_fixture.h"
#include "tests/support/resident_bytes.h"

namespace anemone::exec {

struct BoundCaches : FusionFixture {
  static constexpr std::int64_t kQueryHeads = 4;
  static constexpr std::int64_t kCacheHeads = 2;
  static constexpr std::int64_t kHeadDim = 8;

  enum class Form { kStates, kReplace, kAppend };

  // One function: attention of T tokens over the first `context` of `all` positions. With kAppend,
  // kDynamic is a context of 1 to `all`.
  void add(const std::string& name, Form form, std::int64_t t, std::int64_t context,
           std::int64_t all) {
    Builder b = function(name);
    const auto dims = [](std::initializer_list<std::int64_t> shape) {
      return Literal::int32s(std::vector<std::int32_t>(shape.begin(), shape.end()));
    };
    const auto reshape = [&](Value* x, std::initializer_list<std::int64_t> shape) {
      return b.op("reshape", {{"x", x}, {"shape", dims(shape)}});
    };
    const bool adds = form == Form::kAppend && context != kDynamic;
    const std::int64_t seen = adds ? context + t : context;
    Value* q = b.input("q", half({1, kQueryHeads, t, kHeadDim}));
    Value* look = b.input("look", half({1, 1, t, seen}));
    Value* write = form == Form::kAppend ? nullptr : b.input("write", half({1, 1, context, t}));
    std::vector<Value*> outputs = {nullptr};
    std::vector<std::vector<Value*>> appended;  // the past and the rows of keys, then of values
    const auto join = [&](const std::vector<Value*>& parts) {
      return b.op("concat", {{"values", parts},
                             {"axis", Literal::int32(2)},
                             {"interleave", Literal::boolean(false)}});
    };
    const auto update = [&](const std::string& cache, const std::string& given) -> Value* {
      Value* x = b.input(given, half({1, kCacheHeads, t, kHeadDim}));
      // Rows that the program makes: those of a model are rotated.
      Value* rows =
          b.op("mul", {{"x", x}, {"y", Literal::number(2, DType::kFp16)}}, cache + "_new");
      if (form == Form::kAppend) {
        Value* past = b.input(cache, half({1, kCacheHeads, context, kHeadDim}));
        outputs.push_back(rows);
        if (has_other_reader) outputs.push_back(b.op("square", {{"x", past}}));
        appended.push_back({past, rows});
        return join(appended.back());
      }
      const Shape shape = {1, kCacheHeads, all, kHeadDim};
      Value* whole =
          b.input(cache, form == Form::kStates ? Type::state(DType::kFp16, shape) : half(shape));
      Value* stored = form == Form::kStates ? b.read_state(whole, cache + "_before") : whole;
      Value* before = stored;
      if (context != all)
        before = b.op("slice_by_index", {{"x", stored},
                                         {"begin", dims({0, 0, 0, 0})},
                                         {"end", dims({1, kCacheHeads, context, kHeadDim})}});
      Value* written = b.op(
          "reduce_sum",
          {{"x", write}, {"axes", Literal::int32s({-1})}, {"keep_dims", Literal::boolean(true)}});
      Value* keep = b.op("sub", {{"x", Literal::number(1, DType::kFp16)}, {"y", written}});
      Value* kept = b.op("mul", {{"x", before}, {"y", keep}});
      Value* after = b.op("add", {{"x", kept}, {"y", b.op("matmul", {{"x", write}, {"y", rows}})}});
      Value* updated = after;
      if (context != all)
        updated = b.op("slice_update", {{"x", stored},
                                        {"update", after},
                                        {"begin", dims({0, 0, 0, 0})},
                                        {"end", dims({1, kCacheHeads, context, kHeadDim})}});
      if (form == Form::kStates) {
        b.write_state(whole, updated, cache + "_write");
      } else {
        b.rename(updated, cache + "_new_cache");
        outputs.push_back(updated);
      }
      return after;
    };
    Value* keys = update("keys", "k");
    Value* values = update("values", "v");
    const std::int64_t rows = kQueryHeads / kCacheHeads * t;
    const auto attend = [&](Value* queries, Value* to_keys, Value* to_values) {
      Value* scaled = b.op("mul", {{"x", queries}, {"y", Literal::number(0.5, DType::kFp16)}});
      Value* scores = b.op("matmul", {{"x", reshape(scaled, {1, kCacheHeads, rows, kHeadDim})},
                                      {"y", to_keys},
                                      {"transpose_x", Literal::boolean(false)},
                                      {"transpose_y", Literal::boolean(true)}});
      Value* masked = b.op("add", {{"x", reshape(scores, {1, kQueryHeads, t, seen})}, {"y", look}});
      Value* weights = b.op("softmax", {{"x", masked}, {"axis", Literal::int32(-1)}});
      Value* mixed =
          b.op("matmul", {{"x", reshape(weights, {1, kCacheHeads, rows, seen})}, {"y", to_values}});
      return reshape(mixed, {1, kQueryHeads, t, kHeadDim});
    };
    Value* mixed = attend(q, keys, values);
    if (has_second_layer) {
      Value* next = b.op("mul", {{"x", mixed}, {"y", Literal::number(3, DType::kFp16)}}, "next_q");
      mixed = attend(next, join(appended[0]), join(appended[1]));
    }
    outputs[0] = b.op("mul", {{"x", mixed}, {"y", Literal::number(1, DType::kFp16)}}, "y");
    ASSERT_TRUE(b.finish(outputs).ok()) << b.status().message();
    if (context != kDynamic) return;
    Signature& signature = interface.signatures[name] = signature_of(*program->function(name));
    for (Feature& input : signature.inputs) {
      const std::int64_t beside = input.name == "look" ? t : 0;
      if (is_static(input.shape)) continue;
      for (const std::int64_t size : input.shape)
        input.size_ranges.push_back(size == kDynamic ? SizeRange{1 + beside, all + beside}
                                                     : SizeRange{size, size});
    }
  }

  bool has_other_reader = false;  // of the rows before the step
  bool has_second_layer = false;  // which attends to the cache of the first one; kAppend alone

  struct Step {
    std::string function;
    std::int64_t tokens, context, position, count;
    std::int64_t window = 0;
    bool wants_outputs = true;
  };
  // The tensors of a step; masks are left out where the program takes them as facts.
  struct Made {
    std::vector<Given> given;
    Inputs inputs;
    std::vector<MaskFact> masks;
    StepFacts facts;
  };
  void make(Form form, const Step& step, const LoadedProgram& loaded, std::uint32_t seed,
            Made& out) {
    engine.seed(seed);
    const std::int64_t t = step.tokens;
    out.given.emplace_back("q", random({1, kQueryHeads, t, kHeadDim}, 2));
    out.given.emplace_back("k", random({1, kCacheHeads, t, kHeadDim}, 2));
    out.given.emplace_back("v", random({1, kCacheHeads, t, kHeadDim}));
    const bool appends = form == Form::kAppend;
    const MaskFact look{
        "look", appends ? MaskFact::Role::kAttentionPastAndStep : MaskFact::Role::kAttention,
        step.window};
    const std::int64_t seen = step.context + (appends ? t : 0);
    Tensor look_mask(DType::kFp16, {1, 1, t, seen});
    for (std::int64_t i = 0; i < t; ++i)
      for (std::int64_t s = 0; s < seen; ++s) {
        // Behind the past come the tokens of the step. The past ends at the step where it is
        // shorter than the text.
        const bool is_past = !appends || s < step.context;
        const std::int64_t first =
            appends ? std::max<std::int64_t>(step.position - step.context, 0) : 0;
        const std::int64_t at = is_past ? first + s : step.position + s - step.context;
        const PositionRange open = attended(look, step.position, step.count, i);
        const bool is_there =
            !appends || (is_past ? at < step.position : at < step.position + step.count);
        look_mask.mutable_view().as<Half>()[static_cast<std::size_t>(i * seen + s)] =
            to_half(is_there && at >= open.begin && at < open.end ? 0.0f : -1e4f);
      }
    Tensor write_mask(DType::kFp16, {1, 1, step.context, t});
    for (std::int64_t i = 0; i < step.count && !appends; ++i)
      write_mask.mutable_view().as<Half>()[static_cast<std::size_t>((step.position + i) * t + i)] =
          to_half(1);
    const auto as_facts = loaded.mask_inputs(step.function);
    const auto add = [&](const MaskFact& fact, Tensor mask) {
      if (std::ranges::find(as_facts, fact.input) != as_facts.end())
        out.masks.push_back(fact);
      else
        out.given.emplace_back(fact.input, std::move(mask));
    };
    add(look, std::move(look_mask));
    if (!appends) add({.input = "write", .role = MaskFact::Role::kWrite}, std::move(write_mask));
    for (const Given& one : out.given) out.inputs.push_back({one.name, one.tensor.view()});
    out.facts = {step.position, step.count, t, out.masks};
  }

  // Output "y" of each step that wants it, all of them in one call, and what is in the caches
  // afterwards.
  struct Answer {
    std::vector<std::vector<float>> y;
    std::vector<float> keys, values;
  };
  Answer go(Form form, const LoadedProgram& loaded, const std::vector<Step>& steps,
            std::int64_t positions) {
    Answer answer;
    auto states = loaded.make_state();
    EXPECT_TRUE(states.ok());
    Tensor keys(DType::kFp16, {1, kCacheHeads, positions, kHeadDim});
    Tensor values = keys.clone();
    std::vector<Made> made(steps.size());
    std::vector<Outputs> outputs(steps.size());
    std::vector<std::vector<CacheBinding>> bindings(steps.size());
    // Steps of one function go together.
    for (std::size_t begin = 0, end = 0; begin < steps.size(); begin = end) {
      std::vector<BatchItem> items;
      for (; end < steps.size() && steps[end].function == steps[begin].function; ++end) {
        const Step& step = steps[end];
        make(form, step, loaded, static_cast<std::uint32_t>(end) + 1, made[end]);
        const bool appends = form == Form::kAppend;
        const auto kind = appends ? CacheBinding::Kind::kAppend : CacheBinding::Kind::kReplace;
        if (form != Form::kStates)
          bindings[end] = {{"keys", appends ? "keys_new" : "keys_new_cache", kind, &keys,
                            step.position, step.count, step.window, step.context},
                           {"values", appends ? "values_new" : "values_new_cache", kind, &values,
                            step.position, step.count, step.window, step.context}};
        items.push_back(
            {&made[end].inputs, &outputs[end], states->get(), &made[end].facts, bindings[end]});
        items.back().wants_outputs = step.wants_outputs;
      }
      status = loaded.run_batch(steps[begin].function, items);
      EXPECT_TRUE(status.ok()) << status.message();
      if (!status.ok()) return answer;
    }
    for (std::size_t i = 0; i < steps.size(); ++i)
      answer.y.push_back(steps[i].wants_outputs ? to_floats(find_output(outputs[i], "y")->view())
                                                : std::vector<float>());
    answer.keys = to_floats(form == Form::kStates ? (*states)->read("keys")->view() : keys.view());
    answer.values =
        to_floats(form == Form::kStates ? (*states)->read("values")->view() : values.view());
    return answer;
  }

  // Resident memory once three steps have filled the first 12 positions, and once the states were
  // reset: the larger of the two.
  std::size_t resident_after_steps(Form form, std::int64_t positions) {
    program = std::make_shared<Program>();
    add("main", form, 4, positions, positions);
    const auto loaded = load_as(kernels::simd::supported_isas().back(), false);
    auto states = loaded->make_state();
    EXPECT_TRUE(states.ok());
    Tensor keys(DType::kFp16, {1, kCacheHeads, positions, kHeadDim});
    Tensor values(DType::kFp16, {1, kCacheHeads, positions, kHeadDim});
    const auto* const place = keys.view().data;
    engine.seed(2);
    std::vector<Given> given;
    given.emplace_back("q", random({1, kQueryHeads, 4, kHeadDim}));
    given.emplace_back("k", random({1, kCacheHeads, 4, kHeadDim}));
    given.emplace_back("v", random({1, kCacheHeads, 4, kHeadDim}));
    Inputs inputs;
    for (const Given& one : given) inputs.push_back({one.name, one.tensor.view()});
    const bool appends = form == Form::kAppend;
    std::vector<MaskFact> masks = {
        {"look", appends ? MaskFact::Role::kAttentionPastAndStep : MaskFact::Role::kAttention}};
    if (!appends) masks.push_back({"write", MaskFact::Role::kWrite});
    for (std::int64_t position = 0; position < 12; position += 4) {
      const StepFacts facts{position, 4, 4, masks};
      const auto kind = appends ? CacheBinding::Kind::kAppend : CacheBinding::Kind::kReplace;
      const CacheBinding bindings[] = {
          {"keys", appends ? "keys_new" : "keys_new_cache", kind, &keys, position, 4},
          {"values", appends ? "values_new" : "values_new_cache", kind, &values, position, 4}};
      Outputs outputs;
      BatchItem item{&inputs, &outputs, states->get(), &facts};
      if (form != Form::kStates) item.caches = bindings;
      status = loaded->run_batch("", {&item, 1});
      EXPECT_TRUE(status.ok()) << status.message();
    }
    EXPECT_EQ(keys.view().data, place);
    const std::size_t after_steps = anemone::testing::resident_bytes();
    (*states)->reset();
    return std::max(after_steps, anemone::testing::resident_bytes());
  }

  static void expect_same(const Answer& got, const Answer& expected) {
    EXPECT_EQ(got.y, expected.y);
    EXPECT_EQ(got.keys, expected.keys);
    EXPECT_EQ(got.values, expected.values);
  }

  std::shared_ptr<const LoadedProgram> load_form(Form form, std::int64_t positions,
                                                 std::int64_t tier, kernels::simd::Isa isa,
                                                 bool is_reference) {
    program = std::make_shared<Program>();
    for (const auto& [suffix, context] : {std::pair("", positions), std::pair("_tier", tier)}) {
      add(std::string("decode") + suffix, form, 1, context, positions);
      add(std::string("prefill") + suffix, form, 4, context, positions);
    }
    interface.default_function = "decode";
    return load_as(isa, is_reference);
  }
};

}  // namespace anemone::exec
