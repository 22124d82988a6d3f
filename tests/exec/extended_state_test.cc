// SPDX-License-Identifier: Apache-2.0
// The state of a short convolution as one operation, against the operations that it stands for: to
// the bit, on every instruction set of this machine.
#include <bit>
#include <optional>
#include <string>

#include "exec/cache_binding.h"
#include "tests/exec/fusion_fixture.h"

namespace anemone::exec {
namespace {

struct ExtendedState : FusionFixture {
  // How a program differs from the one that the models of this project have.
  enum class Change {
    kNone,
    kStateIsReadAgain,   // by another operation
    kProductIsRead,      // is an output, too
    kStateComesLast,     // after the columns of the step
    kOtherAxis,          // channels are joined
    kMaskIsTransposed,   // and multiplied so
    kMaskIsMadeLater,    // from what is joined
    kMaskIsTheState,     // whose shape it has
    kSomethingElseKept,  // twice the product
  };

  struct Sizes {
    Shape groups = {1, 1};
    std::int64_t channels = 5;
    std::int64_t kept = 2;
    std::int64_t tokens = 1;

    Shape with(std::int64_t columns) const { return {groups[0], groups[1], channels, columns}; }
  };

  void build(const Sizes& sizes, Change change = Change::kNone, bool is_state = true) {
    sizes_ = sizes;
    program = std::make_shared<Program>();
    Builder b = function();
    const bool is_joined = change != Change::kOtherAxis;
    const Shape kept = sizes.with(sizes.kept);
    Value* x = b.input("x", half(is_joined ? sizes.with(sizes.tokens) : kept));
    Value* stored = b.input("s", is_state ? Type::state(DType::kFp16, kept) : half(kept));
    Value* before = is_state ? b.read_state(stored, "before") : stored;
    std::vector<Value*> values = {before, x};
    if (change == Change::kStateComesLast) std::swap(values[0], values[1]);
    Value* joined = b.op("concat", {{"values", values},
                                    {"axis", Literal::int32(is_joined ? -1 : 2)},
                                    {"interleave", Literal::boolean(false)}});
    const std::int64_t columns = joined->type.shape.back();
    const bool is_transposed = change == Change::kMaskIsTransposed;
    mask_shape_ =
        is_transposed ? Shape{1, 1, sizes.kept, columns} : Shape{1, 1, columns, sizes.kept};
    if (!is_joined) mask_shape_ = {1, 1, columns, columns};
    Value* mask = b.input("mask", half(mask_shape_));
    if (change == Change::kMaskIsMadeLater) {
      Value* sum = b.op("reduce_sum", {{"x", joined},
                                       {"axes", Literal::int32s({0, 1, 2, 3})},
                                       {"keep_dims", Literal::boolean(true)}});
      mask = b.op("mul", {{"x", mask}, {"y", sum}});
    }
    Value* after = b.op("matmul", {{"x", joined},
                                   {"y", change == Change::kMaskIsTheState ? before : mask},
                                   {"transpose_x", Literal::boolean(false)},
                                   {"transpose_y", Literal::boolean(is_transposed)}});
    if (!is_joined)
      after =
          b.op("slice_by_size",
               {{"x", after},
                {"begin", Literal::int32s({0, 0, 0, 0})},
                {"size", Literal::int32s(std::vector<std::int32_t>(kept.begin(), kept.end()))}});
    Value* next = after;
    if (change == Change::kSomethingElseKept) next = b.op("add", {{"x", after}, {"y", after}});
    if (is_state)
      b.write_state(stored, next, "write");
    else
      b.rename(next, "s_out");
    // Another operation reads what is joined, so that it is no output of the function itself.
    std::vector<Value*> outputs = {b.op("relu", {{"x", joined}}, "y")};
    if (!is_state) outputs.push_back(next);
    if (change == Change::kStateIsReadAgain) outputs.push_back(b.op("relu", {{"x", before}}));
    if (change == Change::kProductIsRead) outputs.push_back(b.op("relu", {{"x", after}}));
    if (change == Change::kMaskIsTheState) outputs.push_back(b.op("relu", {{"x", mask}}));
    ASSERT_TRUE(b.finish(outputs).ok()) << b.status().message();
  }

  // Keeps the columns that end at the token `count`, as the models do.
  Tensor tail_mask(std::int64_t count) const {
    Tensor out(DType::kFp16, mask_shape_);
    for (std::int64_t k = 0; k < sizes_.kept; ++k)
      out.mutable_view().as<Half>()[static_cast<std::size_t>((count + k) * sizes_.kept + k)] =
          to_half(1);
    return out;
  }
  std::vector<Given> given(std::optional<Tensor> mask = {}) {
    std::vector<Given> out;
    const Type& x = program->functions().front()->inputs.front()->type;
    out.push_back({"x", random(x.shape)});
    out.push_back({"mask", mask ? std::move(*mask) : random(mask_shape_)});
    return out;
  }

  std::vector<std::string> fused_names() {
    const auto loaded = load_as(kernels::simd::Isa::kPlain, false);
    return loaded == nullptr ? std::vector<std::string>() : fused(*loaded);
  }

  Sizes sizes_;
  Shape mask_shape_;
};

std::vector<std::uint16_t> bits_of(const Tensor& tensor) {
  std::vector<std::uint16_t> out;
  for (const Half value : tensor.view().as<Half>()) out.push_back(value.bits);
  return out;
}

TEST_F(ExtendedState, GivesTheBitsOfItsOperations) {
  for (const std::int64_t tokens : {1, 2, 16})
    for (const std::int64_t kept : {1, 2, 3}) {
      SCOPED_TRACE(std::to_string(tokens) + " tokens, " + std::to_string(kept) + " kept");
      build({.groups = {1, 2}, .channels = 37, .kept = kept, .tokens = tokens});
      const std::vector<std::string> names = fused_names();
      ASSERT_EQ(std::ranges::count(names, "extended_state"), 1);
      std::vector<std::vector<Given>> steps;
      for (std::int64_t count = 0; count <= tokens; ++count)
        steps.push_back(given(tail_mask(count)));
      steps.push_back(given());                                   // of any numbers
      steps.push_back(given(Tensor(DType::kFp16, mask_shape_)));  // of none
      expect_like_reference(names, steps, 0);
    }
}

TEST_F(ExtendedState, EnoughChannelsForAllThreads) {
  build({.channels = 9000, .kept = 3, .tokens = 8});
  expect_like_reference(fused_names(), {given(tail_mask(8)), given(tail_mask(3))}, 0);
}

// The product gives +0 for -0, and NaN for every number beside an infinity or a NaN: 0 times them.
TEST_F(ExtendedState, KeepsTheProductsOfZerosAndInfinities) {
  build({.channels = 4, .kept = 2, .tokens = 2});
  const auto half_bits = [](std::uint16_t bits) { return Half{bits}; };
  Tensor x(DType::kFp16, sizes_.with(2));
  const std::uint16_t numbers[] = {0x8000, 0x8001, 0x3c00, 0x7c00, 0x7e00, 0xbc00, 0x7bff, 0x8000};
  for (std::size_t i = 0; i < std::size(numbers); ++i)
    x.mutable_view().as<Half>()[i] = half_bits(numbers[i]);
  const Tensor mask = tail_mask(2);
  const Inputs inputs = {{"x", x.view()}, {"mask", mask.view()}};
  const auto bits_after = [&](const LoadedProgram& loaded) {
    auto states = loaded.make_state();
    EXPECT_TRUE(states.ok());
    run(loaded, inputs, "y", states->get());
    EXPECT_TRUE(status.ok()) << status.message();
    auto bits = bits_of(*(*states)->read("s"));
    // NaNs are one, whatever their sign and payload.
    for (std::uint16_t& value : bits)
      if ((value & 0x7fff) > 0x7c00) value = 0x7e00;
    return bits;
  };
  const std::vector<std::uint16_t> expected = {0,      0x8001, 0x7e00, 0x7c00,
                                               0x7e00, 0x7e00, 0x7bff, 0};
  EXPECT_EQ(bits_after(*load_as(kernels::simd::Isa::kPlain, true)), expected);
  EXPECT_EQ(bits_after(*load_as(kernels::simd::Isa::kPlain, false)), expected);
}

TEST_F(ExtendedState, WhatComputesSomethingElseIsLeftAsItIs) {
  for (const Change change :
       {Change::kStateIsReadAgain, Change::kProductIsRead, Change::kStateComesLast,
        Change::kOtherAxis, Change::kMaskIsTransposed, Change::kMaskIsMadeLater,
        Change::kMaskIsTheState, Change::kSomethingElseKept}) {
    SCOPED_TRACE(static_cast<int>(change));
    // These sizes give the state the shape of a mask.
    build({.channels = 4, .kept = 2, .tokens = 2}, change);
    const std::vector<std::string> names = fused_names();
    EXPECT_EQ(std::ranges::count(names, "extended_state"), 0);
    expect_like_reference(names, {given(), given()}, 0);
  }
}

TEST_F(ExtendedState, RunsOverTheSameStateAndOverOthersGoTogether) {
  for (const std::int64_t tokens : {1, 4}) {
    build({.channels = 7, .kept = 3, .tokens = tokens});
    std::vector<std::vector<Given>> steps;
    for (const std::int64_t count : {tokens, tokens / 2, tokens})
      steps.push_back(given(tail_mask(count)));
    expect_states_like_single_runs(steps, true);
    expect_states_like_single_runs(steps, false);
  }
}

// A cache in tensors that the caller binds is written where it lies; runs of a batch over the same
// one and over others give the bits of a state.
TEST_F(ExtendedState, InTensorsIsTheCallers) {
  const Sizes sizes = {.channels = 6, .kept = 2, .tokens = 3};
  // The conversation of each run.
  const std::vector<std::size_t> turns = {0, 0, 1, 0, 1, 1};
  for (const kernels::simd::Isa isa : kernels::simd::supported_isas()) {
    SCOPED_TRACE(std::string(kernels::simd::isa_name(isa)));
    build(sizes);
    std::vector<std::vector<Given>> steps;
    for (std::size_t i = 0; i < turns.size(); ++i)
      steps.push_back(given(tail_mask(static_cast<std::int64_t>(1 + i % 3))));
    std::vector<Inputs> inputs(turns.size());
    for (std::size_t i = 0; i < turns.size(); ++i)
      for (const Given& one : steps[i]) inputs[i].push_back({one.name, one.tensor.view()});
    const auto with_states = load_as(isa, true);
    std::vector<std::unique_ptr<StateStore>> states;
    for (int i = 0; i < 2; ++i) states.push_back(std::move(*with_states->make_state()));
    std::vector<std::vector<float>> expected;
    for (std::size_t i = 0; i < turns.size(); ++i)
      expected.push_back(run(*with_states, inputs[i], "y", states[turns[i]].get()));

    build(sizes, Change::kNone, /*is_state=*/false);
    const auto with_tensors = load_as(isa, false);
    ASSERT_EQ(std::ranges::count(fused(*with_tensors), "extended_state"), 1);
    std::vector<Tensor> caches;
    for (int i = 0; i < 2; ++i) caches.emplace_back(DType::kFp16, sizes.with(sizes.kept));
    const std::byte* const places[] = {caches[0].view().data, caches[1].view().data};
    std::vector<Outputs> outputs(turns.size());
    std::vector<CacheBinding> bindings(turns.size());
    std::vector<BatchItem> items(turns.size());
    for (std::size_t i = 0; i < turns.size(); ++i) {
      bindings[i] = {"s", "s_out", CacheBinding::Kind::kReplace, &caches[turns[i]]};
      items[i] = {&inputs[i], &outputs[i]};
      items[i].caches = {&bindings[i], 1};
    }
    const Status batch = with_tensors->run_batch("", items);
    ASSERT_TRUE(batch.ok()) << batch.message();
    for (std::size_t i = 0; i < turns.size(); ++i)
      EXPECT_EQ(to_floats(find_output(outputs[i], "y")->view()), expected[i]);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(caches[i].view().data, places[i]);
      EXPECT_EQ(bits_of(caches[i]), bits_of(*states[i]->read("s")));
    }
  }
}

TEST_F(ExtendedState, ThePlanCountsItsState) {
  build({.channels = 8, .kept = 3, .tokens = 5});
  const auto steps = explain(*load());
  ASSERT_TRUE(steps.ok());
  const auto found = std::ranges::find(*steps, "extended_state", &PlanStep::name);
  ASSERT_NE(found, steps->end());
  EXPECT_EQ(found->flops, 2 * 8 * 8 * 3);
  EXPECT_EQ(found->state_bytes, 8 * 3 * 2);
}

}  // namespace
}  // namespace anemone::exec
