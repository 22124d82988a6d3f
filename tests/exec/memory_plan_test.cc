// SPDX-License-Identifier: Apache-2.0
// Values in one arena: no two that live together share memory, and results stay what they are.
#include "exec/cpu/memory_plan.h"

#include <cstring>
#include <ctime>

#include "exec/cpu/cpu_program.h"
#include "exec/cpu/function_plans.h"
#include "exec/cpu/planner.h"
#include "exec/cpu/prepare.h"
#include "tests/exec/fusion_fixture.h"
#include "tests/exec/memory_checker.h"
#include "tests/support/sanitized.h"

namespace anemone::exec {
namespace {

struct MemoryOfPlans : FusionFixture {
  // Everything is some shape of so many elements.
  static constexpr std::int64_t kElements = 96;
  const std::vector<Shape> shapes = {{kElements}, {4, 24}, {2, 6, 8}, {12, 8}, {3, 4, 8}};

  std::size_t any(std::size_t count) { return engine() % count; }

  Value* reshaped(Builder& b, Value* x, const Shape& shape) {
    std::vector<std::int32_t> sizes(shape.begin(), shape.end());
    return b.op("reshape", {{"x", x}, {"shape", Literal::int32s(sizes)}});
  }

  // Fused operations, kernels and views in any order; several values live for long.
  void build_any() {
    program = std::make_shared<Program>();
    Builder b = function();
    std::vector<Value*> values = {b.input("a", half({4, 24})), b.input("c", half({2, 6, 8}))};
    const std::size_t count = 3 + any(40);
    for (std::size_t i = 0; i < count; ++i) {
      // Mostly new ones, so that others die.
      const std::size_t recent = std::min<std::size_t>(values.size(), 4);
      Value* x = any(4) == 0 ? values[any(values.size())] : values[values.size() - 1 - any(recent)];
      switch (any(9)) {
        case 0:
          values.push_back(b.op("tanh", {{"x", x}}));
          break;
        case 1:
        case 2: {
          Value* y = reshaped(b, values[any(values.size())], x->type.shape);
          values.push_back(b.op(any(2) == 0 ? "add" : "mul", {{"x", x}, {"y", y}}));
          break;
        }
        case 3:
          values.push_back(b.op("softmax", {{"x", x}, {"axis", Literal::int32(-1)}}));
          break;
        case 4:
          values.push_back(reshaped(b, x, shapes[any(shapes.size())]));
          break;
        case 5: {
          // Views into the middle.
          Value* rows = reshaped(b, x, {4, 24});
          const auto parts = b.ops(
              "split",
              {{"x", rows}, {"num_splits", Literal::int32(2)}, {"axis", Literal::int32(0)}}, 2);
          values.push_back(b.op("concat", {{"values", std::vector<Value*>{parts[1], parts[0]}},
                                           {"axis", Literal::int32(0)},
                                           {"interleave", Literal::boolean(false)}}));
          break;
        }
        case 6: {
          const auto rank = static_cast<std::int32_t>(x->type.shape.size());
          if (rank < 2) break;
          std::vector<std::int32_t> perm;
          for (std::int32_t axis = 0; axis < rank; ++axis) perm.push_back(axis);
          std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
          Value* transposed = b.op("transpose", {{"x", x}, {"perm", Literal::int32s(perm)}});
          values.push_back(reshaped(b, transposed, {12, 8}));
          break;
        }
        case 7:
          values.push_back(b.op("linear", {{"x", reshaped(b, x, {12, 8})},
                                           {"weight", random_literal({8, 8}, 0.5f)},
                                           {"bias", random_literal({8})}}));
          break;
        default:
          values.push_back(b.op("reverse", {{"x", x}}));  // a kernel
      }
    }
    Value* y = b.op("identity", {{"x", values.back()}}, "y");
    Value* z = b.op("identity", {{"x", values[values.size() / 2]}}, "z");
    ASSERT_TRUE(b.finish({y, z}).ok()) << b.status().message();
  }

  // All outputs of one run of a planned function.
  static std::vector<std::vector<float>> outputs_of(const PreparedFunction& function,
                                                    const std::vector<Tensor>& inputs, int times) {
    ThreadPool threads(2);
    MaskCache masks;
    std::int64_t bytes_read = 0;
    const FusedContext context{threads, kernels::simd::kernels_of(kernels::simd::best_isa()), masks,
                               bytes_read};
    std::vector<BufferRef> states;
    const ExecutionPlan plan(function, std::make_shared<MemoryLimit>(0));
    std::vector<std::vector<float>> out;
    auto frame = plan.take_frame();
    EXPECT_TRUE(frame.ok());
    for (int i = 0; i < times; ++i) {
      std::vector<Interpreter> runs;
      runs.emplace_back(function, **frame, states, std::span<const FusedState>{}, threads, 1);
      for (std::size_t k = 0; k < inputs.size(); ++k)
        (*frame)->registers[static_cast<std::size_t>(function.inputs[k].reg)].view =
            inputs[k].view();
      const Status status = Interpreter::run(function, runs, context, nullptr, nullptr);
      EXPECT_TRUE(status.ok()) << status.message();
      out.clear();
      for (const PreparedOutput& output : function.outputs)
        out.push_back(to_floats((*frame)->registers[static_cast<std::size_t>(output.reg)].view));
      runs[0].clear();
    }
    return out;
  }
};

TEST_F(MemoryOfPlans, RandomGraphsKeepTheirBitsInAnArena) {
  std::size_t overwritten = 0;
  for (int graph = 0; graph < 300; ++graph) {
    SCOPED_TRACE(graph);
    build_any();
    LoadedConstants constants;
    Signature signature;
    for (const ir::Value* input : program->functions()[0]->inputs)
      signature.inputs.emplace_back().name = input->name;
    for (const ir::Value* output : program->functions()[0]->block->outputs)
      signature.outputs.emplace_back().name = output->name;
    for (auto* features : {&signature.inputs, &signature.outputs})
      for (Feature& feature : *features) feature.dtype = DType::kFp16;
    for (std::size_t i = 0; i < 2; ++i) {
      signature.inputs[i].shape = program->functions()[0]->inputs[i]->type.shape;
      signature.outputs[i].shape = program->functions()[0]->block->outputs[i]->type.shape;
    }
    auto planned =
        prepare(*program->functions()[0], std::make_shared<const Signature>(signature), constants);
    ASSERT_TRUE(planned.ok()) << planned.status().message();
    ConstantFolder folder(std::make_shared<MemoryLimit>(0));
    ThreadPool threads(1);
    ASSERT_TRUE(plan({&*planned}, true, folder, threads).ok());
    MemoryChecker checker(*planned);
    checker.run();
    overwritten += checker.overwritten();
    EXPECT_GE(planned->memory.arena_bytes, planned->memory.least_bytes);

    std::vector<Tensor> inputs;
    inputs.push_back(random({4, 24}));
    inputs.push_back(random({2, 6, 8}));
    const auto got = outputs_of(*planned, inputs, 3);
    std::ranges::fill(planned->memory.offsets, MemoryPlan::kNone);
    for (PreparedOp& op : planned->block.ops) op.is_placed_view = false;
    const auto expected = outputs_of(*planned, inputs, 1);
    // NaN equals no NaN, so the bytes are compared.
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].size(), expected[i].size());
      EXPECT_EQ(std::memcmp(got[i].data(), expected[i].data(), got[i].size() * sizeof(float)), 0);
    }
  }
  EXPECT_GT(overwritten, 300U);
}

TEST_F(MemoryOfPlans, ALongChainOfValuesLivesInTwoOfThem) {
  Builder b = function();
  Value* x = b.input("x", half({1000}));
  for (int i = 0; i < 20; ++i) x = b.op("reverse", {{"x", x}});
  b.rename(x, "y");
  ASSERT_TRUE(b.finish({x}).ok()) << b.status().message();
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  const auto memory = explain_memory(*loaded);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(memory->value_bytes, 20 * 2000);
  EXPECT_EQ(memory->arena_bytes, 2 * MemoryPlan::place_bytes(2048));  // lines of 64 bytes
}

// What a state keeps is no part of an arena: the next run would write over it.
TEST_F(MemoryOfPlans, StatesKeepWhatIsWrittenToThem) {
  Builder b = function();
  Value* x = b.input("x", half({8}));
  Value* state = b.input("kept", Type::state(DType::kFp16, {8}));
  Value* sum = b.op("add", {{"x", b.op("reverse", {{"x", x}})}, {"y", b.read_state(state, "old")}});
  b.write_state(state, sum, "written");
  Value* y = b.op("reverse", {{"x", b.op("tanh", {{"x", sum}})}}, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  const auto* cpu = dynamic_cast<const CpuProgram*>(loaded.get());
  ASSERT_NE(cpu, nullptr);
  MemoryChecker checker((*cpu->plan(""))->function());
  checker.run();
  EXPECT_EQ(checker.values(), 3U);  // not the sum
  expect_like_reference({"add", "chain"},
                        {{{"x", random({8})}}, {{"x", random({8})}}, {{"x", random({8})}}},
                        kManyRoundings);
}

// The second run finds the tensors of the first one, and writes its outputs there: those that
// operations give, over the memory of values before them, too, and views of all of such a value.
TEST_F(MemoryOfPlans, OutputsAreWrittenToTheTensorsOfTheCaller) {
  Builder b = function();
  Value* x = b.input("x", half({4, 24}));
  Value* whole = b.op("reverse", {{"x", b.op("tanh", {{"x", x}})}}, "whole");
  Value* view = reshaped(b, b.op("exp", {{"x", b.op("sin", {{"x", x}})}}), {2, 6, 8});
  b.rename(view, "view");
  const auto parts = b.ops("split",
                           {{"x", b.op("cos", {{"x", x}})},
                            {"num_splits", Literal::int32(2)},
                            {"axis", Literal::int32(0)}},
                           2);
  b.rename(parts[1], "part");
  ASSERT_TRUE(b.finish({whole, view, parts[1]}).ok()) << b.status().message();
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  const auto* cpu = dynamic_cast<const CpuProgram*>(loaded.get());
  ASSERT_NE(cpu, nullptr);
  const MemoryPlan& memory = (*cpu->plan(""))->function().memory;
  ASSERT_EQ(memory.movable_outputs.size(), 2U);  // not the part of another value
  EXPECT_EQ(memory.movable_outputs[0].output, 0U);
  EXPECT_EQ(memory.movable_outputs[1].output, 1U);

  Outputs outputs;
  std::vector<const std::byte*> places;
  for (int i = 0; i < 4; ++i) {
    SCOPED_TRACE(i);
    const Tensor input = random({4, 24});
    // A tensor that does not fit, and none at all: these outputs are copied.
    if (i == 2) outputs[0].tensor = Tensor(DType::kFp16, {3});
    if (i == 3) outputs.erase(outputs.begin());
    ASSERT_TRUE(loaded->run("", {{"x", input.view()}}, outputs, nullptr).ok());
    Outputs fresh;
    ASSERT_TRUE(loaded->run("", {{"x", input.view()}}, fresh, nullptr).ok());
    ASSERT_EQ(outputs.size(), fresh.size());
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      EXPECT_EQ(outputs[k].name, fresh[k].name);
      EXPECT_EQ(to_floats(outputs[k].tensor.view()), to_floats(fresh[k].tensor.view()));
      if (i == 0) places.push_back(outputs[k].tensor.view().data);
      if (k > 0 || i == 1) {
        EXPECT_EQ(outputs[k].tensor.view().data, places[k]);
      }
    }
  }
}

// Neither the search for patterns nor the plan of memory compares each operation with all others:
// that took more than a minute.
TEST_F(MemoryOfPlans, OfManyOperationsIsMadeInTime) {
  program = std::make_shared<Program>();
  Builder b = function();
  Value* x = b.input("x", half({1, 8}));
  Value* sum = x;
  for (int i = 0; i < 40'000; ++i)
    sum = b.op("add", {{"x", sum}, {"y", x}}, "sum" + std::to_string(i));
  b.rename(sum, "y");
  ASSERT_TRUE(b.finish({sum}).ok()) << b.status().message();
  // Counts the processor's time, so that other work on the machine does not matter.
  const std::clock_t begin = std::clock();
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, testing::kIsSanitized ? 100 : 20);
  Tensor ones(DType::kFp16, {1, 8});
  store_floats(std::vector<float>(8, 0x1p-10f), ones.mutable_view());
  EXPECT_EQ(run(*loaded, {{"x", ones.view()}}, "y").size(), 8U);
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace
}  // namespace anemone::exec
