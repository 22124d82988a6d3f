// SPDX-License-Identifier: Apache-2.0
#include "exec/ane_direct/binding_plan.h"

#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include "exec/ane_direct/compile_budget.h"
#include "exec/ane_direct/error_map.h"
#include "exec/ane_direct/kernel.h"
#include "tests/exec/ane_direct/small_kernels.h"

namespace anemone::exec::ane_direct::testing {
namespace {

struct NamedShape {
  std::string name;
  Shape shape;
  DType dtype = DType::kFp16;
};

// A function of these inputs, whose outputs are its inputs in the given order.
struct Ports {
  explicit Ports(const std::vector<NamedShape>& shapes) {
    function = program.add_function("main", ir::Opset::kIOS18);
    for (const auto& [name, shape, dtype] : shapes) {
      function->inputs.push_back(program.add_value(name, ir::Type::tensor(dtype, shape)));
      function->block->outputs.push_back(function->inputs.back());
    }
  }
  ir::Program program;
  ir::Function* function = nullptr;
};

std::vector<std::string> names(const std::vector<Port>& ports) {
  std::vector<std::string> out;
  for (const Port& port : ports) out.push_back(port.name);
  return out;
}

using Names = std::vector<std::string>;

TEST(BindingPlan, GoesByTheNamesUnlessTheDeviceSaysOtherwise) {
  const Ports ports({{"q", {1, 8, 1, 32}}, {"k", {1, 2, 1, 32}}, {"V", {1, 2, 3, 64}}});
  const auto plan = plan_bindings(*ports.function);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(names(plan->inputs), (Names{"V", "k", "q"}));
  EXPECT_EQ(names(plan->outputs), (Names{"V", "k", "q"}));
  EXPECT_EQ(plan->inputs[0].index, 2U);
  EXPECT_EQ(plan->inputs[2].index, 0U);
  const auto declared = plan_bindings(*ports.function, {.outputs = PortOrder::kDeclared});
  EXPECT_EQ(names(declared->inputs), (Names{"V", "k", "q"}));
  EXPECT_EQ(names(declared->outputs), (Names{"q", "k", "V"}));
}

TEST(BindingPlan, GivesRowsTheirSlots) {
  const Ports ports({{"a", {1, 896, 1, 32}}, {"b", {1, 2, 3, 64}}});
  const auto plan = plan_bindings(*ports.function);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->inputs[0].row_bytes, 64U);
  EXPECT_EQ(plan->inputs[0].bytes, 57344U);  // what a kernel of 896 channels needs
  EXPECT_EQ(plan->inputs[1].rows, 6);
  EXPECT_EQ(plan->inputs[1].row_bytes, 128U);
  EXPECT_EQ(plan->inputs[1].bytes, 768U);
  const auto equal = plan_bindings(*ports.function, {.has_equal_surfaces = true});
  EXPECT_EQ(equal->inputs[1].bytes, 57344U);
  EXPECT_EQ(equal->outputs[0].bytes, 57344U);
}

TEST(BindingPlan, RefusesWhatNoSurfaceCanBeMadeFor) {
  const std::pair<NamedShape, const char*> cases[] = {
      {{"x", {1, 4, 1, 1}}, "[x] expected a last axis that is a multiple of 32, got 1"},
      {{"x", {1, 4, 1, 16}}, "[x] expected a last axis that is a multiple of 32, got 16"},
      {{"x", {1, 4, 1, 40}}, "[x] expected a last axis that is a multiple of 32, got 40"},
      {{"x", {1, 4, 1, 32}, DType::kFp32},
       "[x] expected an fp16 tensor [1, C, H, S], got tensor<fp32, [1, 4, 1, 32]>"},
      {{"x", {2, 4, 1, 32}},
       "[x] expected an fp16 tensor [1, C, H, S], got tensor<fp16, [2, 4, 1, 32]>"},
      {{"x", {4, 1, 32}}, "[x] expected an fp16 tensor [1, C, H, S], got tensor<fp16, [4, 1, 32]>"},
      {{"x", {1, 4, 1, kDynamic}},
       "[x] expected an fp16 tensor [1, C, H, S], got tensor<fp16, [1, 4, 1, ?]>"},
      {{"x", {1, 0, 1, 32}},
       "[x] expected a surface of at most 1073741824 bytes, got the shape [1, 0, 1, 32]"},
      {{"x", {1, std::int64_t{1} << 40, std::int64_t{1} << 40, 32}},
       "[x] expected a surface of at most 1073741824 bytes, got the shape [1, 1099511627776, "
       "1099511627776, 32]"}};
  for (const auto& [shape, message] : cases) {
    const Ports ports({shape});
    const Status status = plan_bindings(*ports.function).status();
    EXPECT_EQ(status.code(), Code::kUnsupported);
    EXPECT_EQ(status.message(), message);
  }
  std::vector<NamedShape> many;
  for (int i = 0; i < 33; ++i) many.push_back({"x" + std::to_string(i), {1, 1, 1, 32}});
  EXPECT_EQ(plan_bindings(*Ports(many).function).status().message(),
            "[program] expected 1 to 32 inputs, got 33");
  many.pop_back();
  EXPECT_TRUE(plan_bindings(*Ports(many).function).ok());
}

TEST(BindingPlan, OfAKernelIsTheSameInBothOrders) {
  const auto program =
      kernel_program(small_spec(std::vector<std::int64_t>(32, 2), 3), ir::Opset::kIOS18);
  ASSERT_TRUE(program.ok()) << program.status().message();
  const ir::Function& main = *program->functions()[0];
  const auto alphabetical = plan_bindings(main);
  const auto declared = plan_bindings(main, {PortOrder::kDeclared, PortOrder::kDeclared});
  ASSERT_TRUE(alphabetical.ok()) << alphabetical.status().message();
  EXPECT_EQ(names(alphabetical->outputs), names(declared->outputs));
  EXPECT_EQ(alphabetical->outputs.size(), 32U);
}

TEST(CompileBudget, StopsAtItsLimitWhoeverAsks) {
  CompileBudget budget(40);
  std::atomic<int> taken = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 20; ++n)
        if (budget.take("k").ok()) ++taken;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 40);
  EXPECT_EQ(budget.left(), 0);
  const Status status = budget.take("kernel 41");
  EXPECT_EQ(status.code(), Code::kDevice);
  EXPECT_EQ(status.message(),
            "[kernel 41] expected at most 40 compilations for the Neural Engine in one process, "
            "got one more");
  EXPECT_LT(CompileBudget::kMost, 100);
}

TEST(ErrorMap, KnowsTheTextsOfThePrivateClasses) {
  const auto mapped = [](const char* domain, const char* text) {
    return map_error({{{"outer", 1, "something failed"}, {domain, 7, text}}}, "k", "cannot run");
  };
  EXPECT_EQ(mapped("d", "InvalidMILProgram").cause, Cause::kText);
  EXPECT_EQ(mapped("d", "ANECCompile() FAILED: err=()").cause, Cause::kCompile);
  EXPECT_EQ(mapped("d", "ANEProgramProcessRequestDirect() Failed with status=0x1d : ").cause,
            Cause::kSurface);
  EXPECT_EQ(mapped("d", "No space left on device").status.code(), Code::kIo);
  EXPECT_EQ(mapped("anemone.folder", "[f] cannot write: No space left on device").cause,
            Cause::kDiskFull);
  EXPECT_EQ(mapped("NSException", "boom").status.code(), Code::kInternal);
  EXPECT_EQ(mapped("anemone.misuse", "0x1d").cause, Cause::kMisuse);
  const MappedError unknown = mapped("d", "who knows");
  EXPECT_EQ(unknown.cause, Cause::kUnknown);
  EXPECT_EQ(unknown.status.message(),
            "[k] cannot run: the Neural Engine gives no cause that is known (outer 1: something "
            "failed; d 7: who knows)");
}

}  // namespace
}  // namespace anemone::exec::ane_direct::testing
