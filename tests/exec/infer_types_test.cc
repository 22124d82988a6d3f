// SPDX-License-Identifier: Apache-2.0
// What is known of shapes that follow from those of the inputs, and what stays open.
#include "exec/cpu/constant_folder.h"
#include "exec/cpu/function_plans.h"
#include "exec/cpu/planner.h"
#include "exec/cpu/prepare.h"
#include "tests/exec/open_shapes_fixture.h"

namespace anemone::exec {
namespace {

struct InferredTypes : OpenShapesFixture {};

// What depends on data keeps its open shape; all around it is planned.
TEST_F(InferredTypes, DataDependentShapesStayOpen) {
  Builder b = function();
  Value* x = b.input("x", half({kDynamic, kChannels}));
  Value* flags = b.input("flags", Type::tensor(DType::kInt32, {kDynamic}));
  Value* normed = norm(b, x);
  Value* found =
      b.op("squeeze", {{"x", b.op("non_zero", {{"x", flags}})}, {"axes", Literal::int32s({1})}});
  Value* chosen = b.op("gather", {{"x", b.op("tanh", {{"x", normed}})},
                                  {"indices", found},
                                  {"axis", Literal::int32(0)},
                                  {"batch_dims", Literal::int32(0)},
                                  {"validate_indices", Literal::boolean(false)}});
  Value* y = b.op("tanh", {{"x", linear(b, b.op("exp", {{"x", chosen}}), 8)}}, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  const auto loaded = load();
  const auto reference = load_as(options.isa, true);
  ASSERT_TRUE(loaded != nullptr && reference != nullptr);
  for (const std::vector<std::int32_t>& bits :
       std::vector<std::vector<std::int32_t>>{{1, 0, 1}, {1, 1, 1}, {0, 0, 0, 1}, {1, 1, 1, 1}}) {
    const auto rows = static_cast<std::int64_t>(bits.size());
    const Tensor input = random({rows, kChannels}), chosen_rows = ints({rows}, bits);
    const Inputs inputs = {{"x", input.view()}, {"flags", chosen_rows.view()}};
    const auto got = run(*loaded, inputs, "y");
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(fused(*loaded), (std::vector<std::string>{"rms_norm", "chain", "projection"}));
    expect_near(got, run(*reference, inputs, "y"), kManyRoundings);
  }
}

// A loop doubles its variable, or makes it longer; tanh of the result is a chain where its shape is
// known.
TEST_F(InferredTypes, LoopsKeepTheShapesThatTheyDoNotChange) {
  for (const bool grows : {false, true}) {
    program = std::make_shared<Program>();
    Builder b = function();
    Value* x = b.input("x", half({kDynamic}));
    Value* again = b.input("again", Type::tensor(DType::kBool, {1}));
    Value* no = b.constant(Literal::boolean(false), "no");
    Value* axis = b.constant(Literal::int32(0), "axis");
    Value* flag = b.op("squeeze", {{"x", again}, {"axes", Literal::int32s({0})}});
    ir::Op* loop = program->add_op();
    loop->type = "while_loop";
    loop->name = "loop";
    loop->inputs.emplace("loop_vars", ir::Arguments{x, flag});
    b.function().block->ops.push_back(loop);
    const Type scalar = Type::scalar(DType::kBool);
    for (int i = 0; i < 2; ++i) {
      ir::Block* block = program->add_block();
      block->inputs = {program->add_value(i == 0 ? "v0" : "v1", half({kDynamic})),
                       program->add_value(i == 0 ? "f0" : "f1", scalar)};
      loop->blocks.push_back(block);
    }
    loop->blocks[0]->outputs = {loop->blocks[0]->inputs[1]};
    Value* v = loop->blocks[1]->inputs[0];
    ir::Op* change = program->add_op();
    change->type = grows ? "concat" : "add";
    change->name = "change";
    if (grows) {
      change->inputs.emplace("values", ir::Arguments{v, v});
      change->inputs.emplace("axis", ir::Arguments{axis});
      change->inputs.emplace("interleave", ir::Arguments{no});
    } else {
      change->inputs.emplace("x", ir::Arguments{v});
      change->inputs.emplace("y", ir::Arguments{v});
    }
    change->outputs = {program->add_value("changed", half({kDynamic}), change)};
    loop->blocks[1]->ops = {change};
    loop->blocks[1]->outputs = {change->outputs[0], no};
    loop->outputs = {program->add_value("looped", half({kDynamic}), loop),
                     program->add_value("last", scalar, loop)};
    Value* y = b.op("tanh", {{"x", loop->outputs[0]}}, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
    const auto loaded = load();
    const auto reference = load_as(options.isa, true);
    ASSERT_TRUE(loaded != nullptr && reference != nullptr);
    for (const std::int64_t size : {4, 9})
      for (const bool goes_on : {true, false}) {
        const Tensor value = random({size});
        Tensor once(DType::kBool, {1});
        once.mutable_view().data[0] = goes_on ? std::byte{1} : std::byte{0};
        const Inputs inputs = {{"x", value.view()}, {"again", once.view()}};
        const auto got = run(*loaded, inputs, "y");
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(got.size(), static_cast<std::size_t>(grows && goes_on ? 2 * size : size));
        expect_near(got, run(*reference, inputs, "y"), kManyRoundings);
        EXPECT_EQ(fused(*loaded).size(), grows ? 0U : 1U);
      }
  }
}

// The branches of a condition agree on what is known of both.
TEST_F(InferredTypes, ConditionsHaveTheShapeOfBothBranches) {
  Builder b = function();
  Value* x = b.input("x", half({kDynamic}));
  Value* which = b.input("which", Type::tensor(DType::kBool, {1}));
  Value* flag = b.op("squeeze", {{"x", which}, {"axes", Literal::int32s({0})}});
  ir::Op* cond = program->add_op();
  cond->type = "cond";
  cond->name = "cond";
  cond->inputs.emplace("pred", ir::Arguments{flag});
  b.function().block->ops.push_back(cond);
  for (const char* type : {"abs", "square"}) {
    ir::Op* op = program->add_op();
    op->type = op->name = type;
    op->inputs.emplace("x", ir::Arguments{x});
    op->outputs = {program->add_value(std::string(type) + "_of_x", half({kDynamic}), op)};
    cond->blocks.push_back(program->add_block());
    cond->blocks.back()->ops = {op};
    cond->blocks.back()->outputs = op->outputs;
  }
  cond->outputs = {program->add_value("either", half({kDynamic}), cond)};
  Value* y = b.op("tanh", {{"x", cond->outputs[0]}}, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  const auto loaded = load();
  const auto reference = load_as(options.isa, true);
  ASSERT_TRUE(loaded != nullptr && reference != nullptr);
  for (const bool is_first : {true, false}) {
    const Tensor value = random({6});
    Tensor choice(DType::kBool, {1});
    choice.mutable_view().data[0] = is_first ? std::byte{1} : std::byte{0};
    const Inputs inputs = {{"x", value.view()}, {"which", choice.view()}};
    expect_near(run(*loaded, inputs, "y"), run(*reference, inputs, "y"), kManyRoundings);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(fused(*loaded), std::vector<std::string>{"chain"});
  }
}

// Weights are read once, and what follows from them alone is computed once, for all shapes; a table
// of positions belongs to the plan of a shape.
TEST_F(InferredTypes, PlansShareWhatFollowsFromConstants) {
  Builder b = function();
  Value* x = b.input("x", half({1, kDynamic, kChannels}));
  int loads = 0;
  const Literal weight(half({64, kChannels}),
                       ir::lazy_data(64 * kChannels * 2, [&]() -> Result<Tensor> {
                         ++loads;
                         return Tensor(DType::kFp16, {64, kChannels});
                       }));
  Value* scaled =
      b.op("mul", {{"x", b.constant(weight, "weight")}, {"y", Literal::number(2, DType::kFp16)}},
           "scaled");
  Value* length = b.op("gather", {{"x", b.op("shape", {{"x", x}})},
                                  {"indices", Literal::int32(1)},
                                  {"axis", Literal::int32(0)},
                                  {"batch_dims", Literal::int32(0)},
                                  {"validate_indices", Literal::boolean(false)}});
  Value* positions = b.op(
      "range_1d", {{"start", Literal::int32(0)}, {"end", length}, {"step", Literal::int32(1)}});
  Value* table = b.op(
      "cos", {{"x", b.op("cast", {{"x", positions}, {"dtype", Literal::text("fp16")}})}}, "table");
  Value* column = b.op("expand_dims", {{"x", table}, {"axes", Literal::int32s({1})}});
  Value* product = b.op("matmul", {{"x", x},
                                   {"y", scaled},
                                   {"transpose_x", Literal::boolean(false)},
                                   {"transpose_y", Literal::boolean(true)}});
  Value* y = b.op("mul", {{"x", product}, {"y", column}}, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();

  LoadedConstants constants;
  const ir::Function& written = *program->functions()[0];
  const auto prepared = prepare(
      written,
      std::make_shared<const Signature>(Signature{{half_feature("x", {1, kDynamic, kChannels})},
                                                  {half_feature("y", {1, kDynamic, 64})},
                                                  {}}),
      constants);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  ConstantFolder folder(std::make_shared<MemoryLimit>(0));
  ThreadPool threads(1);
  std::map<std::string, std::vector<const std::byte*>> places;
  std::vector<PreparedFunction> plans;  // alive together, so that places differ
  for (const std::int64_t tokens : {70, 90}) {
    PreparedFunction& planned =
        plans.emplace_back(with_shapes(*prepared, {{1, tokens, kChannels}}));
    ASSERT_TRUE(plan({&planned}, true, folder, threads).ok());
    ASSERT_FALSE(planned.block.ops.empty());
    for (const PreparedOp& op : planned.block.ops)
      for (const Operand& operand : op.operands)
        for (const int reg : operand.registers)
          if (is_known(planned, reg)) {
            const TensorView& value = planned.initial[static_cast<std::size_t>(reg)].view;
            places[value.shape == Shape{64, kChannels} ? "scaled" : "table"].push_back(value.data);
          }
    for (const char* gone : {"scaled", "table"})
      EXPECT_TRUE(std::ranges::none_of(planned.block.ops, [&](const PreparedOp& op) {
        return op.op->name == gone;
      })) << gone;
  }
  EXPECT_EQ(loads, 1);
  ASSERT_EQ(places["scaled"].size(), 2U);
  EXPECT_EQ(places["scaled"][0], places["scaled"][1]);
  EXPECT_NE(places["table"].front(), places["table"].back());
}

// The form of constexpr operations up to iOS17, whose parameters are attributes: the name of a type
// is read when types are inferred and when values are folded.
TEST_F(InferredTypes, AttributesStayReadable) {
  Builder b(*program, ops::op_registry(), "main", Opset::kIOS16);
  Value* x = b.input("x", Type::tensor(DType::kFp32, {4}));
  Value* y = x;
  for (int i = 0; i < 40; ++i) {
    ir::Op* cast = program->add_op();
    cast->type = "constexpr_cast";
    cast->name = "widened_" + std::to_string(i);
    cast->attributes.emplace("source_val", random_literal({4}));
    cast->attributes.emplace("output_dtype", Literal::text("fp32"));
    cast->outputs = {program->add_value(cast->name, Type::tensor(DType::kFp32, {4}), cast)};
    b.function().block->ops.push_back(cast);
    y = b.op("add", {{"x", y}, {"y", cast->outputs[0]}});
  }
  b.rename(y, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  const auto steps = explain(*loaded);
  ASSERT_TRUE(steps.ok());
  EXPECT_EQ(steps->size(), 40U);  // the sums
}

}  // namespace
}  // namespace anemone::exec
