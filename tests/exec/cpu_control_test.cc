// SPDX-License-Identifier: Apache-2.0
#include "tests/exec/program_fixture.h"

namespace anemone::exec {
namespace {

using Floats = std::vector<float>;

// Blocks are built by hand: the builder writes straight-line functions.
struct Control : ProgramFixture {
  ir::Op* op(ir::Block* block, std::string type, std::string name) {
    ir::Op* out = program->add_op();
    out->type = std::move(type);
    out->name = std::move(name);
    block->ops.push_back(out);
    return out;
  }
  Value* output(ir::Op* of, std::string name, Type type) {
    of->outputs.push_back(program->add_value(std::move(name), std::move(type), of));
    return of->outputs.back();
  }
  Value* binary(ir::Block* block, std::string type, Value* x, Value* y, std::string name,
                DType dtype) {
    Shape shape = x->type.shape;
    ir::Op* out = op(block, std::move(type), name);
    out->inputs.emplace("x", ir::Arguments{x});
    out->inputs.emplace("y", ir::Arguments{y});
    return output(out, name, Type::tensor(dtype, std::move(shape)));
  }
};

// Doubles x until n steps are done: while (i < n) { i += 1; x += x; }
struct Loop : Control {
  void build() {
    Builder b = function();
    Value* x = b.input("x", Type::tensor(DType::kFp32, {2}));
    Value* n = b.input("n", Type::tensor(DType::kInt32, {}));
    Value* zero = b.constant(Literal::int32(0), "zero");
    Value* one = b.constant(Literal::int32(1), "one");
    ir::Op* loop = op(b.function().block, "while_loop", "loop");
    loop->inputs.emplace("loop_vars", ir::Arguments{zero, x});
    ir::Block* condition = program->add_block();
    ir::Block* body = program->add_block();
    loop->blocks = {condition, body};
    for (ir::Block* block : loop->blocks) {
      block->inputs.push_back(program->add_value("i", Type::scalar(DType::kInt32)));
      block->inputs.push_back(program->add_value("v", Type::tensor(DType::kFp32, {2})));
    }
    condition->outputs = {
        binary(condition, "less", condition->inputs[0], n, "goes_on", DType::kBool)};
    Value* next = binary(body, "add", body->inputs[0], one, "next_i", DType::kInt32);
    Value* twice = binary(body, "add", body->inputs[1], body->inputs[1], "twice", DType::kFp32);
    body->outputs = {next, twice};
    Value* count = output(loop, "count", Type::scalar(DType::kInt32));
    Value* result = output(loop, "result", Type::tensor(DType::kFp32, {2}));
    ASSERT_TRUE(b.finish({count, result}).ok()) << b.status().message();
  }
};

TEST_F(Loop, RunsItsBodyAsOftenAsTheConditionHolds) {
  build();
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  const Tensor x = floats({2}, {1, 3});
  for (const std::int32_t n : {0, 1, 5}) {
    const Tensor steps = ints({1}, {n});
    const float factor = static_cast<float>(1 << n);
    EXPECT_EQ(run(*loaded, {{"x", x.view()}, {"n", steps.view()}}, "result"),
              (Floats{factor, 3 * factor}));
    EXPECT_EQ(run(*loaded, {{"x", x.view()}, {"n", steps.view()}}, "count"),
              (Floats{static_cast<float>(n)}));
  }
}

TEST_F(Loop, GivesTheSameResultInARunThatReusesItsBuffers) {
  build();
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  const Tensor x = floats({2}, {1, 3});
  const Tensor steps = ints({1}, {10});
  Outputs outputs;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(loaded->run("", {{"x", x.view()}, {"n", steps.view()}}, outputs, nullptr).ok());
    EXPECT_EQ(to_floats(find_output(outputs, "result")->view()), (Floats{1024, 3072}));
  }
}

TEST_F(Loop, ThatDoesNotEndIsStopped) {
  build();
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  const Tensor x = floats({2}, {1, 3});
  const Tensor steps = ints({1}, {std::numeric_limits<std::int32_t>::max()});
  Outputs outputs;
  const Status failed = loaded->run("", {{"x", x.view()}, {"n", steps.view()}}, outputs, nullptr);
  EXPECT_EQ(failed.code(), Code::kCorrupt);
  EXPECT_NE(failed.message().find("ran its loops for more than"), std::string::npos)
      << failed.message();
}

TEST_F(Loop, WhoseBodyChangesTheShapeOfAVariableIsRefusedAtRunTime) {
  Builder b = function();
  Value* x = b.input("x", Type::tensor(DType::kFp32, {kDynamic}));
  Value* keep = b.constant(Literal::boolean(true), "keep");
  Value* axis = b.constant(Literal::int32(0), "axis");
  Value* no = b.constant(Literal::boolean(false), "no");
  ir::Op* loop = op(b.function().block, "while_loop", "loop");
  loop->inputs.emplace("loop_vars", ir::Arguments{x});
  ir::Block* condition = program->add_block();
  ir::Block* body = program->add_block();
  loop->blocks = {condition, body};
  for (ir::Block* block : loop->blocks)
    block->inputs.push_back(program->add_value("v", Type::tensor(DType::kFp32, {2})));
  condition->outputs = {keep};
  ir::Op* concat = op(body, "concat", "longer");
  concat->inputs.emplace("values", ir::Arguments{body->inputs[0], x});
  concat->inputs.emplace("axis", ir::Arguments{axis});
  concat->inputs.emplace("interleave", ir::Arguments{no});
  body->outputs = {output(concat, "longer", Type::tensor(DType::kFp32, {kDynamic}))};
  Value* result = output(loop, "result", Type::tensor(DType::kFp32, {kDynamic}));
  ASSERT_TRUE(b.finish({result}).ok()) << b.status().message();
  auto loaded = load_program(program);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const Tensor value = floats({2}, {1, 2});
  Outputs outputs;
  const Status failed = (*loaded)->run("", {{"x", value.view()}}, outputs, nullptr);
  EXPECT_EQ(failed.code(), Code::kCorrupt);
  EXPECT_NE(failed.message().find("expected loop variable v to be tensor<fp32, [2]>"),
            std::string::npos)
      << failed.message();
}

TEST_F(Control, CondRunsTheBlockThatThePredicateNames) {
  Builder b = function();
  Value* x = b.input("x", Type::tensor(DType::kFp32, {2}));
  Value* limit = b.input("limit", Type::tensor(DType::kFp32, {}));
  Value* pivot = b.constant(Literal::number(0, DType::kFp32), "pivot");
  Value* ten = b.constant(Literal::number(10, DType::kFp32), "ten");
  Value* pred = b.op("greater", {{"x", limit}, {"y", pivot}}, "pred");
  ir::Op* choice = op(b.function().block, "cond", "choice");
  choice->inputs.emplace("pred", ir::Arguments{pred});
  ir::Block* yes = program->add_block();
  ir::Block* no = program->add_block();
  choice->blocks = {yes, no};
  yes->outputs = {binary(yes, "add", x, ten, "plus", DType::kFp32)};
  no->outputs = {binary(no, "mul", x, ten, "times", DType::kFp32)};
  Value* result = output(choice, "result", Type::tensor(DType::kFp32, {2}));
  ASSERT_TRUE(b.finish({result}).ok()) << b.status().message();
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  const Tensor value = floats({2}, {1, 2});
  const Tensor above = floats({1}, {1});
  const Tensor below = floats({1}, {-1});
  EXPECT_EQ(run(*loaded, {{"x", value.view()}, {"limit", above.view()}}, "result"),
            (Floats{11, 12}));
  EXPECT_EQ(run(*loaded, {{"x", value.view()}, {"limit", below.view()}}, "result"),
            (Floats{10, 20}));
}

TEST_F(Control, ACondWithOneBlockIsRefusedAtLoad) {
  Builder b = function();
  Value* pred = b.input("pred", Type::tensor(DType::kBool, {}));
  ir::Op* choice = op(b.function().block, "cond", "choice");
  choice->inputs.emplace("pred", ir::Arguments{pred});
  ir::Block* yes = program->add_block();
  choice->blocks = {yes};
  yes->outputs = {pred};
  Value* result = output(choice, "result", Type::scalar(DType::kBool));
  ASSERT_TRUE(b.finish({result}).ok()) << b.status().message();
  EXPECT_FALSE(load_program(program).ok());
}

}  // namespace
}  // namespace anemone::exec
