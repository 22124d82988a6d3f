// SPDX-License-Identifier: Apache-2.0
// Lists that loops write to: what a round costs.
#include "tests/exec/program_fixture.h"

namespace anemone::exec {
namespace {

using Floats = std::vector<float>;

// for (i = 0; i < n; ++i) { body }; the variables are i and lists of pairs. Blocks are built by
// hand: the builder writes straight-line functions.
struct ListLoops : ProgramFixture {
  Builder b = function();
  Value* x = b.input("x", Type::tensor(DType::kFp32, {2}));
  Value* n = b.input("n", Type::tensor(DType::kInt32, {}));
  const Type pairs = Type::list(Type::tensor(DType::kFp32, {2}), -1);
  ir::Block* body = program->add_block();

  ir::Op* add(ir::Block* block, std::string type, const std::string& name,
              std::vector<std::pair<const char*, Value*>> inputs, const Type& output) {
    ir::Op* op = program->add_op();
    op->type = std::move(type);
    op->name = name;
    for (const auto& [parameter, value] : inputs)
      op->inputs.emplace(parameter, ir::Arguments{value});
    op->outputs.push_back(program->add_value(name, output, op));
    block->ops.push_back(op);
    return op;
  }

  Value* make_list(std::string_view name, std::int32_t length) {
    return b.op("make_list",
                {{"init_length", Literal::int32(length)},
                 {"dynamic_length", Literal::boolean(true)},
                 {"elem_shape", std::vector<Value*>{b.constant(Literal::int32(2), "width")}},
                 {"dtype", Literal::text("fp32")}},
                name);
  }

  // Begins the body: gives its counter; its lists are body->inputs from 1 on.
  Value* begin(std::vector<Value*> lists) {
    Value* zero = b.constant(Literal::int32(0), "zero");
    one_ = b.constant(Literal::int32(1), "one");
    loop_ = program->add_op();
    loop_->type = "while_loop";
    loop_->name = "loop";
    ir::Arguments variables = {zero};
    variables.insert(variables.end(), lists.begin(), lists.end());
    loop_->inputs.emplace("loop_vars", std::move(variables));
    ir::Block* condition = program->add_block();
    loop_->blocks = {condition, body};
    for (ir::Block* block : loop_->blocks) {
      block->inputs.push_back(program->add_value("i", Type::scalar(DType::kInt32)));
      for (Value* list : lists)
        block->inputs.push_back(program->add_value("in_" + list->name, list->type));
    }
    condition->outputs = {add(condition, "less", "goes_on", {{"x", condition->inputs[0]}, {"y", n}},
                              Type::scalar(DType::kBool))
                              ->outputs[0]};
    return body->inputs[0];
  }

  // Ends it with the next lists. The outputs of the function are the length of the first list and
  // its last item.
  std::shared_ptr<const LoadedProgram> finish(std::vector<Value*> lists) {
    Value* next =
        add(body, "add", "next", {{"x", body->inputs[0]}, {"y", one_}}, Type::scalar(DType::kInt32))
            ->outputs[0];
    body->outputs = {next};
    body->outputs.insert(body->outputs.end(), lists.begin(), lists.end());
    for (const Value* variable : body->inputs)
      loop_->outputs.push_back(
          program->add_value("after_" + variable->name, variable->type, loop_));
    b.function().block->ops.push_back(loop_);
    Value* length = b.op("list_length", {{"ls", loop_->outputs[1]}}, "length");
    Value* last_index = b.op("sub", {{"x", n}, {"y", one_}}, "last_index");
    Value* last = b.op("list_read", {{"ls", loop_->outputs[1]}, {"index", last_index}}, "last");
    const Status finished = b.finish({length, last});
    EXPECT_TRUE(finished.ok()) << finished.message();
    return finished.ok() ? load() : nullptr;
  }

  Floats run_for(const LoadedProgram& loaded, std::int32_t rounds, std::string_view output) {
    const Tensor pair = floats({2}, {3, 4}), count = ints({1}, {rounds});
    return run(loaded, {{"x", pair.view()}, {"n", count.view()}}, output);
  }

  // A copy of the list in every round would copy more items than a run may.
  void expect_linear(const LoadedProgram& loaded) {
    constexpr std::int32_t kRounds = 200'000;
    EXPECT_EQ(run_for(loaded, kRounds, "length"), Floats{kRounds}) << status.message();
    EXPECT_EQ(run_for(loaded, 1000, "last"), (Floats{3, 4})) << status.message();
  }

 private:
  Value* one_ = nullptr;
  ir::Op* loop_ = nullptr;
};

TEST_F(ListLoops, WriteInPlaceWhereNobodyElseHasTheList) {
  Value* i = begin({make_list("list", 0)});
  ir::Op* write = add(body, "list_write", "written",
                      {{"ls", body->inputs[1]}, {"index", i}, {"value", x}}, pairs);
  const auto loaded = finish({write->outputs[0]});
  ASSERT_NE(loaded, nullptr);
  expect_linear(*loaded);
}

TEST_F(ListLoops, ScatterInPlaceWhereNobodyElseHasTheList) {
  Value* zero = b.constant(Literal::int32s({0}), "axes");
  Value* i = begin({make_list("list", 0)});
  Value* index = add(body, "expand_dims", "index", {{"x", i}, {"axes", zero}},
                     Type::tensor(DType::kInt32, {1}))
                     ->outputs[0];
  Value* row = add(body, "expand_dims", "row", {{"x", x}, {"axes", zero}},
                   Type::tensor(DType::kFp32, {1, 2}))
                   ->outputs[0];
  ir::Op* scatter = add(body, "list_scatter", "written",
                        {{"ls", body->inputs[1]}, {"indices", index}, {"value", row}}, pairs);
  const auto loaded = finish({scatter->outputs[0]});
  ASSERT_NE(loaded, nullptr);
  expect_linear(*loaded);
}

// The list goes through a choice of which one block writes and the other hands on what it got.
TEST_F(ListLoops, WriteInPlaceBehindAChoice) {
  Value* yes = b.constant(Literal::boolean(true), "yes");
  Value* i = begin({make_list("list", 0)});
  ir::Op* first = add(body, "list_write", "first",
                      {{"ls", body->inputs[1]}, {"index", i}, {"value", x}}, pairs);
  ir::Op* choice = add(body, "cond", "choice", {{"pred", yes}}, pairs);
  choice->blocks = {program->add_block(), program->add_block()};
  for (ir::Block* block : choice->blocks) block->outputs = {first->outputs[0]};
  ir::Op* second = add(body, "list_write", "second",
                       {{"ls", choice->outputs[0]}, {"index", i}, {"value", x}}, pairs);
  const auto loaded = finish({second->outputs[0]});
  ASSERT_NE(loaded, nullptr);
  expect_linear(*loaded);
}

TEST_F(ListLoops, LeaveAListAsItIsThatIsReadAfterTheWrite) {
  Value* i = begin({make_list("before", 4), make_list("list", 4)});
  ir::Op* write = add(body, "list_write", "written",
                      {{"ls", body->inputs[2]}, {"index", i}, {"value", x}}, pairs);
  const auto loaded = finish({body->inputs[2], write->outputs[0]});
  ASSERT_NE(loaded, nullptr);
  for (const std::int32_t rounds : {1, 3})
    EXPECT_EQ(run_for(*loaded, rounds, "last"), (Floats{0, 0})) << status.message();
}

// Each round keeps the list before its write, so that each write has to copy it.
TEST_F(ListLoops, EndWithAnErrorWhereEveryRoundCopiesALongList) {
  Value* i = begin({make_list("list", 0), make_list("old", 0)});
  ir::Op* write = add(body, "list_write", "written",
                      {{"ls", body->inputs[1]}, {"index", i}, {"value", x}}, pairs);
  const auto loaded = finish({write->outputs[0], body->inputs[1]});
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(run_for(*loaded, 1000, "length"), Floats{1000}) << status.message();
  run_for(*loaded, 1'000'000, "length");
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("items of lists"), std::string::npos) << status.message();
}

TEST_F(ListLoops, EndWithAnErrorWhereEveryRoundMakesALongList) {
  Value* width = b.constant(Literal::int32(2), "wide");
  Value* length = b.constant(Literal::int32(1 << 20), "long");
  Value* grows = b.constant(Literal::boolean(true), "grows");
  Value* dtype = b.constant(Literal::text("fp32"), "kind");
  begin({make_list("list", 1)});
  ir::Op* made = add(
      body, "make_list", "made",
      {{"init_length", length}, {"dynamic_length", grows}, {"elem_shape", width}, {"dtype", dtype}},
      pairs);
  const auto loaded = finish({made->outputs[0]});
  ASSERT_NE(loaded, nullptr);
  run_for(*loaded, 1'000'000, "length");
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("items of lists"), std::string::npos) << status.message();
}

TEST_F(ListLoops, TakeNoListAsAnItem) {
  Value* list = make_list("list", 1);
  b.op("list_write", {{"ls", list}, {"index", Literal::int32(0)}, {"value", list}}, "written");
  EXPECT_FALSE(b.status().ok());
}

}  // namespace
}  // namespace anemone::exec
