// SPDX-License-Identifier: Apache-2.0
#include "ir/verifier.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "tests/ir/test_registry.h"

namespace anemone::ir {
namespace {

std::string function(const std::string& lines, const std::string& target = "ios18") {
  return "program(1.0){func main<" + target + ">(tensor<fp32, [2]> x, tensor<fp16, [2]> h) {" +
         lines + "} -> (x);}";
}

Status verify_text(const std::string& text) {
  auto program = parse(text, "t.mil");
  EXPECT_TRUE(program.ok()) << program.status().message();
  return program.ok() ? verify(*program, test_registry()) : program.status();
}

TEST(Verify, AcceptsALawfulProgram) {
  const Status status = verify_text(
      "program(1.0){func main<ios18>(tensor<fp32, [2]> x, state<tensor<fp16, [2]>> s, bool p) {"
      "tensor<fp16, [2]> r = read_state(input = s)[name = string(\"r\")];"
      "write_state(input = s, data = r)[name = string(\"w\")];"
      "tensor<fp32, [2]> y = add(x = x, y = x)[name = string(\"y\")];"
      "tensor<fp16, [1, 1, 1, 1, 1, 1]> big = const()[name = string(\"big\"), val = "
      "tensor<fp16, [1, 1, 1, 1, 1, 1]>([[[[[[1]]]]]])];"
      "tensor<fp32, [2]> w = constexpr_cast(source_val = tensor<fp16, [2]>([1, 2]))[name = "
      "string(\"w\")];"
      "} -> (y, r);}");
  // The constant of rank 6 feeds nothing, so it is the one thing wrong here.
  EXPECT_EQ(status.message(), "big has rank 6, expected at most 5 (function main)");
}

TEST(Verify, AcceptsConstantsInPlaceWhereAParameterTakesSeveral) {
  const Status status =
      verify_text(function("tensor<fp32, [2]> y = places(x = x, at = (int32(1), int32(-2)))"
                           "[name = string(\"n\")];"));
  EXPECT_TRUE(status.ok()) << status.message();
}

struct Violation {
  const char* name;
  std::string text;
  Code code;
  const char* message;
};

class VerifyRefuses : public ::testing::TestWithParam<Violation> {};

TEST_P(VerifyRefuses, WithALineThatNamesTheRule) {
  const Status status = verify_text(GetParam().text);
  EXPECT_EQ(status.code(), GetParam().code) << status.message();
  EXPECT_EQ(status.message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, VerifyRefuses,
    ::testing::Values(
        Violation{"ProgramVersion", "program(2.0){}", Code::kCorrupt,
                  "expected program version 1, got 2"},
        Violation{"NoFunction", "program(1.0){}", Code::kCorrupt, "the program has no function"},
        Violation{"FunctionName", "program(1.0){func \"a b\"<ios15>(fp32 x) {} -> (x);}",
                  Code::kCorrupt, "\"a b\" is no identifier (function a b)"},
        Violation{"InputKind", "program(1.0){func main<ios15>(list<fp32, 1> x) {} -> (x);}",
                  Code::kCorrupt,
                  "input x is list<fp32, 1>, expected a tensor or a state (function main)"},
        Violation{"StateBeforeIOS18",
                  "program(1.0){func main<ios17>(state<tensor<fp16, [1]>> s, fp32 x) {} -> (x);}",
                  Code::kCorrupt, "state s needs ios18, the function is ios17 (function main)"},
        Violation{"StateOfUnknownShape",
                  "program(1.0){func main<ios18>(state<tensor<fp16, [?]>> s, fp32 x) {} -> (x);}",
                  Code::kCorrupt, "state s has an unknown dimension (function main)"},
        Violation{"NoOutput", "program(1.0){func main<ios18>(fp32 x) {} -> ();}", Code::kCorrupt,
                  "a block has no output (function main)"},
        Violation{"ValueName",
                  function("tensor<fp32, [2]> \"a-b\" = add(x = x, y = x)[name = string(\"n\")];"),
                  Code::kCorrupt, "[add \"n\"] \"a-b\" is no identifier (function main)"},
        Violation{"UnknownOperation",
                  function("tensor<fp32, [2]> y = teleport(x = x)[name = string(\"n\")];"),
                  Code::kUnsupported,
                  "[teleport \"n\"] the operation is not in the operation set (function main)"},
        Violation{
            "OperationNewerThanTheFunction",
            function("tensor<fp32, [2]> y = read_state(input = x)[name = string(\"n\")];", "ios17"),
            Code::kCorrupt,
            "[read_state \"n\"] read_state exists from ios18 on, the function is ios17 "
            "(function main)"},
        Violation{"UnknownParameter",
                  function("tensor<fp32, [2]> y = add(x = x, y = x, z = x)[name = string(\"n\")];"),
                  Code::kCorrupt, "[add \"n\"] add has no parameter \"z\" (function main)"},
        Violation{
            "MissingParameter", function("tensor<fp32, [2]> y = add(x = x)[name = string(\"n\")];"),
            Code::kCorrupt, "[add \"n\"] expected the parameter \"y\", got none (function main)"},
        Violation{"DTypeLetter",
                  function("tensor<fp32, [2]> y = add(x = x, y = h)[name = string(\"n\")];"),
                  Code::kCorrupt,
                  "[add \"n\"] parameter \"y\" is fp16, expected fp32 as the operands before it "
                  "(function main)"},
        Violation{"DType",
                  function("int32 i = const()[name = string(\"i\"), val = int32(1)];"
                           "tensor<fp32, [2]> y = add(x = i, y = i)[name = string(\"n\")];"),
                  Code::kCorrupt, "[add \"n\"] parameter \"x\" cannot be int32 (function main)"},
        Violation{"TooManyArguments",
                  function("tensor<fp32, [2]> y = add(x = (x, x), y = x)[name = string(\"n\")];"),
                  Code::kCorrupt,
                  "[add \"n\"] expected one argument for \"x\", got 2 (function main)"},
        Violation{"NoArgument",
                  function("tensor<fp32, [2]> y = concat(values = ())[name = string(\"n\")];"),
                  Code::kCorrupt,
                  "[concat \"n\"] parameter \"values\" has no argument (function main)"},
        Violation{"RunTimeValueForAConstant",
                  "program(1.0){func main<ios18>(tensor<fp32, [2]> x, int32 a) {"
                  "tensor<fp32, [2]> y = softmax(x = x, axis = a)[name = string(\"n\")];} -> (y);}",
                  Code::kCorrupt,
                  "[softmax \"n\"] expected \"axis\" to be a constant, got a run-time value "
                  "(function main)"},
        Violation{"LabelledConstraint",
                  "program(1.0){func main<ios18>(tensor<fp32, [2]> x, tensor<fp32, [3]> z) {"
                  "tensor<fp32, [2]> y = add(x = x, y = z)[name = string(\"n\")];} -> (y);}",
                  Code::kCorrupt,
                  "[add \"n\"] expected shapes that broadcast, got tensor<fp32, [2]> and "
                  "tensor<fp32, [3]> (add_c1) (function main)"},
        Violation{"OutputType",
                  function("tensor<fp32, [3]> y = add(x = x, y = x)[name = string(\"n\")];"),
                  Code::kCorrupt,
                  "[add \"n\"] output y is declared tensor<fp32, [3]>, expected tensor<fp32, [2]> "
                  "(function main)"},
        Violation{"OutputCount",
                  function("tensor<fp32, [2]> y = split(x = x)[name = string(\"n\")];"),
                  Code::kCorrupt, "[split \"n\"] expected 2 outputs, got 1 (function main)"},
        Violation{"LiteralForAName",
                  function("tensor<fp32, [2]> y = add(x = x, y = tensor<fp32, [2]>([1, 2]))"
                           "[name = string(\"n\")];"),
                  Code::kCorrupt,
                  "[add \"n\"] parameter \"y\" is bound to a literal, expected a name "
                  "(function main)"},
        Violation{"StrayAttribute",
                  function("tensor<fp32, [2]> y = add(x = x, y = x)"
                           "[name = string(\"n\"), extra = int32(1)];"),
                  Code::kCorrupt,
                  "[add \"n\"] has an attribute \"extra\" that the operation does not take "
                  "(function main)"},
        Violation{"ConstWithInput",
                  function("fp32 c = const(x = x)[name = string(\"c\"), val = fp32(1)];"),
                  Code::kCorrupt, "[const \"c\"] a const has no inputs (const_c1) (function main)"},
        Violation{"ConstWithoutValue", function("fp32 c = const()[name = string(\"c\")];"),
                  Code::kCorrupt,
                  "[const \"c\"] a const has the one attribute \"val\" (const_c2) (function main)"},
        Violation{"ConstWithTwoOutputs",
                  function("fp32 c, fp32 d = const()[name = string(\"c\"), val = fp32(1)];"),
                  Code::kCorrupt,
                  "[const \"c\"] a const has one output (const_c3) (function main)"},
        Violation{"ConstOfAnotherType",
                  function("fp32 c = const()[name = string(\"c\"), val = int32(1)];"),
                  Code::kCorrupt,
                  "[const \"c\"] its value is int32, its output is declared fp32 (const_c4) "
                  "(function main)"},
        Violation{"RankOfAnOutput",
                  "program(1.0){func main<ios18>(tensor<fp32, [1, 1, 1, 1, 1, 1]> x) {"
                  "tensor<fp32, [1, 1, 1, 1, 1, 1]> y = add(x = x, y = x)[name = string(\"n\")];"
                  "} -> (y);}",
                  Code::kCorrupt,
                  "[add \"n\"] output y has rank 6, expected at most 5 (function main)"}),
    [](const auto& info) { return info.param.name; });

// What the text cannot say, because the parser resolves names.
struct VerifyByHand : ::testing::Test {
  Program program;
  Function* main = program.add_function("main", Opset::kIOS18);
  Value* x = program.add_value("x", Type::tensor(DType::kFp32, {2}));

  Op* add(Value* a, Value* b, std::string name) {
    Op* op = program.add_op();
    op->type = "add";
    op->name = name;
    op->inputs.emplace("x", Arguments{a});
    op->inputs.emplace("y", Arguments{b});
    op->outputs.push_back(program.add_value(std::move(name), Type::tensor(DType::kFp32, {2}), op));
    return op;
  }
  std::string message() { return verify(program, test_registry()).message(); }
};

TEST_F(VerifyByHand, RefusesAnOperandThatIsDefinedLater) {
  main->inputs = {x};
  Op* first = add(x, x, "first");
  Op* second = add(x, x, "second");
  first->inputs.find("y")->second[0] = second->outputs[0];
  main->block->ops = {first, second};
  main->block->outputs = {first->outputs[0]};
  EXPECT_EQ(message(),
            "[add \"first\"] operand second is not defined before its use (function main)");
}

TEST_F(VerifyByHand, RefusesANameThatIsDefinedTwice) {
  main->inputs = {x};
  main->block->ops = {add(x, x, "y"), add(x, x, "y")};
  main->block->outputs = {x};
  EXPECT_EQ(message(), "[add \"y\"] the name y is defined twice (function main)");
}

TEST_F(VerifyByHand, RefusesAValueOfAnotherFunction) {
  Value* foreign = program.add_value("x", Type::tensor(DType::kFp32, {2}));
  main->inputs = {x};
  main->block->ops = {add(foreign, x, "y")};
  main->block->outputs = {x};
  EXPECT_EQ(message(), "[add \"y\"] operand x is not defined before its use (function main)");
}

TEST_F(VerifyByHand, RefusesAnOutputThatOnlyAnInnerBlockDefines) {
  Value* pred = program.add_value("pred", Type::scalar(DType::kBool));
  main->inputs = {x, pred};
  Op* cond = program.add_op();
  cond->type = "cond";
  cond->name = "choice";
  cond->inputs.emplace("pred", Arguments{pred});
  Op* inner = add(x, x, "inner");
  for (int i = 0; i < 2; ++i) cond->blocks.push_back(program.add_block());
  cond->blocks[0]->ops = {inner};
  cond->blocks[0]->outputs = {inner->outputs[0]};
  cond->blocks[1]->outputs = {x};
  cond->outputs.push_back(program.add_value("out", Type::tensor(DType::kFp32, {2}), cond));
  main->block->ops = {cond};
  main->block->outputs = {cond->outputs[0]};
  EXPECT_EQ(message(), "");
  main->block->outputs = {inner->outputs[0]};
  EXPECT_EQ(message(), "output inner is not defined (function main)");
}

TEST_F(VerifyByHand, BoundsTheNestingOfBlocks) {
  Value* pred = program.add_value("pred", Type::scalar(DType::kBool));
  main->inputs = {x, pred};
  main->block->outputs = {x};
  Block* block = main->block;
  for (int i = 0; i < 40; ++i) {
    Op* cond = program.add_op();
    cond->type = "cond";
    cond->name = "c";
    cond->inputs.emplace("pred", Arguments{pred});
    cond->blocks = {program.add_block(), program.add_block()};
    for (Block* inner : cond->blocks) inner->outputs = {x};
    block->ops = {cond};
    block = cond->blocks[0];
  }
  EXPECT_NE(message().find("blocks nest deeper than 32"), std::string::npos) << message();
}

// Blocks that each take a copy of all names before them take a minute here.
TEST_F(VerifyByHand, LooksAtManyBlocksInTime) {
  constexpr int kMany = 30'000;
  Value* pred = program.add_value("pred", Type::scalar(DType::kBool));
  main->inputs = {x, pred};
  for (int i = 0; i < kMany; ++i) {
    Op* cond = program.add_op();
    cond->type = "cond";
    cond->name = "c";
    cond->inputs.emplace("pred", Arguments{pred});
    cond->blocks = {program.add_block(), program.add_block()};
    for (Block* inner : cond->blocks) {
      // Names inside of blocks end with them, so that others may have them.
      Op* op = add(x, x, "inner");
      inner->ops = {op};
      inner->outputs = {op->outputs[0]};
    }
    cond->outputs.push_back(program.add_value("out_" + std::to_string(i), x->type, cond));
    main->block->ops.push_back(cond);
  }
  main->block->outputs = {main->block->ops.back()->outputs[0]};
  EXPECT_EQ(message(), "");
  main->block->ops.back()->blocks[1]->ops[0]->outputs[0]->name = "out_0";
  EXPECT_NE(message().find("the name out_0 is defined twice"), std::string::npos) << message();
}

TEST_F(VerifyByHand, LooksAtStructureAloneWhenAsked) {
  main->inputs = {x};
  Op* op = add(x, x, "y");
  op->type = "teleport";
  main->block->ops = {op};
  main->block->outputs = {op->outputs[0]};
  EXPECT_FALSE(verify(program, test_registry()).ok());
  EXPECT_TRUE(verify(program, test_registry(), {.structure_only = true}).ok());
}

}  // namespace
}  // namespace anemone::ir
