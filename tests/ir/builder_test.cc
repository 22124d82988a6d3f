// SPDX-License-Identifier: Apache-2.0
#include "ir/builder.h"

#include <gtest/gtest.h>

#include "ir/verifier.h"
#include "tests/ir/test_registry.h"

namespace anemone::ir {
namespace {

struct BuilderTest : ::testing::Test {
  Program program;
  Builder b{program, test_registry(), "main", Opset::kIOS18};
  Value* x = b.input("x", Type::tensor(DType::kFp32, {2}));
};

TEST_F(BuilderTest, InfersTheTypesOfOutputs) {
  Value* wide = b.input("wide", Type::tensor(DType::kFp32, {3, 1}));
  Value* y = b.op("add", {{"x", x}, {"y", wide}});
  ASSERT_NE(y, nullptr);
  EXPECT_EQ(to_string(y->type), "tensor<fp32, [3, 2]>");
  EXPECT_EQ(y->name, "add");
}

TEST_F(BuilderTest, SpellsOutDefaultedParameters) {
  Value* y = b.op("softmax", {{"x", x}}, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  const auto axis = y->producer->inputs.find("axis");
  ASSERT_NE(axis, y->producer->inputs.end());
  const Literal* value = constant_of(axis->second[0]);
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(to_ints(value->to_tensor()->view()), (std::vector<std::int64_t>{-1}));
  EXPECT_EQ(std::get<Value*>(axis->second[0])->name, "y_axis_0");
  EXPECT_TRUE(verify(program, test_registry()).ok());
}

TEST_F(BuilderTest, MakesNamesUnique) {
  Value* a = b.op("add", {{"x", x}, {"y", x}}, "sum");
  Value* c = b.op("add", {{"x", a}, {"y", x}}, "sum");
  Value* odd = b.op("add", {{"x", a}, {"y", x}}, "layers.0/q-proj");
  EXPECT_EQ(a->name, "sum");
  EXPECT_EQ(c->name, "sum_1");
  EXPECT_EQ(odd->name, "layers_0_q_proj");
}

TEST_F(BuilderTest, NumbersSeveralOutputs) {
  const auto parts = b.ops("split", {{"x", x}}, 2, "parts");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0]->name, "parts_0");
  EXPECT_EQ(parts[1]->name, "parts_1");
}

TEST_F(BuilderTest, RenamesAnOutput) {
  Value* y = b.op("add", {{"x", x}, {"y", x}});
  b.rename(y, "logits");
  EXPECT_TRUE(b.finish({y}).ok());
  EXPECT_EQ(y->name, "logits");
  EXPECT_EQ(y->producer->name, "logits");
}

TEST_F(BuilderTest, RefusesToRenameToATakenName) {
  Value* y = b.op("add", {{"x", x}, {"y", x}});
  b.rename(y, "x");
  EXPECT_EQ(b.status().code(), Code::kInternal);
}

TEST_F(BuilderTest, KeepsTheFirstErrorAndDoesNothingAfterIt) {
  Value* wide = b.input("wide", Type::tensor(DType::kFp32, {3}));
  EXPECT_EQ(b.op("add", {{"x", x}, {"y", wide}}, "bad"), nullptr);
  EXPECT_EQ(b.op("teleport", {{"x", x}}), nullptr);
  EXPECT_EQ(b.op("add", {{"x", nullptr}, {"y", x}}), nullptr);
  const Status status = b.finish({nullptr});
  EXPECT_EQ(status.message(),
            "[add \"bad\"] expected shapes that broadcast, got tensor<fp32, [2]> and "
            "tensor<fp32, [3]> (add_c1)");
}

TEST_F(BuilderTest, RefusesAnUnknownOperation) {
  b.op("teleport", {{"x", x}});
  EXPECT_EQ(b.status().message(), "the graph uses the unknown operation teleport");
}

TEST_F(BuilderTest, WritesStatesInProgramOrder) {
  Value* state = b.input("cache", Type::state(DType::kFp16, {2}));
  Value* read = b.read_state(state, "read");
  b.write_state(state, read, "write");
  ASSERT_TRUE(b.finish({read}).ok()) << b.status().message();
  ASSERT_EQ(program.functions()[0]->block->ops.size(), 2u);
  EXPECT_EQ(program.functions()[0]->block->ops[1]->type, "write_state");
  EXPECT_TRUE(program.functions()[0]->block->ops[1]->outputs.empty());
  EXPECT_TRUE(verify(program, test_registry()).ok());
}

TEST_F(BuilderTest, BindsConstexprParametersInPlace) {
  Tensor half(DType::kFp16, {2});
  Value* w = b.constexpr_op("constexpr_cast", {{"source_val", Literal::of(std::move(half))}}, "w");
  ASSERT_TRUE(b.finish({w}).ok()) << b.status().message();
  EXPECT_EQ(to_string(w->type), "tensor<fp32, [2]>");
  EXPECT_TRUE(std::holds_alternative<Literal>(w->producer->inputs.find("source_val")->second[0]));
}

// Tried from the first number on for each, these names take minutes.
TEST_F(BuilderTest, NumbersNamesThatAreTakenInTimeForAnyNumberOfThem) {
  constexpr int kMany = 100'000;
  Value* last = nullptr;
  for (int i = 0; i < kMany; ++i) last = b.op("add", {{"x", x}, {"y", x}}, "sum");
  ASSERT_NE(last, nullptr) << b.status().message();
  EXPECT_EQ(last->name, "sum_99999");
  // A name that somebody gave by hand is left out.
  b.op("add", {{"x", x}, {"y", x}}, "sum_100000");
  EXPECT_EQ(b.op("add", {{"x", x}, {"y", x}}, "sum")->name, "sum_100001");
}

}  // namespace
}  // namespace anemone::ir
