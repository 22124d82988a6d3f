// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/text.h"

namespace anemone::ir {
namespace {

std::string in_function(const std::string& lines) {
  return "program(1.0)\n{\nfunc main<ios18>(fp32 x) {\n" + lines + "\n} -> (x);\n}\n";
}

std::string message(const std::string& text) {
  return parse(text, "t.mil").status().message();
}

TEST(Parse, AcceptsAnyWhiteSpaceAndComments) {
  const auto program = parse(
      "program(1.3)// version\n[buildInfo=dict<string,string>({{\"a\",\"b\"}})]{func main<ios17>"
      "(tensor<fp16,[1,?]>x){int32\ty=const( )[name=string(\"y\") , val = int32( 3 )] ; }->(y , "
      "x);}",
      "t.mil");
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(program->version, 1);
  const Function* main = program->function("main");
  ASSERT_NE(main, nullptr);
  EXPECT_EQ(main->opset, Opset::kIOS17);
  EXPECT_EQ(to_string(main->inputs[0]->type), "tensor<fp16, [1, ?]>");
  ASSERT_EQ(main->block->ops.size(), 1u);
  EXPECT_EQ(main->block->ops[0]->name, "y");
  EXPECT_EQ(main->block->outputs.size(), 2u);
}

TEST(Parse, ReadsDecimalAndHexadecimalFloats) {
  const auto program = parse(in_function("tensor<fp32, [4]> c = const()[name = string(\"c\"), "
                                         "val = tensor<fp32, [4]>([0.5, -1e3, 0x1.8p+1, 7])];"),
                             "t.mil");
  ASSERT_TRUE(program.ok()) << program.status().message();
  const Op* op = program->functions()[0]->block->ops[0];
  const auto tensor = op->attributes.find("val")->second.to_tensor();
  EXPECT_EQ(to_floats(tensor->view()), (std::vector<float>{0.5f, -1000, 3, 7}));
}

struct ErrorCase {
  const char* name;
  std::string text;
  const char* message;
};

class ParseError : public ::testing::TestWithParam<ErrorCase> {};

TEST_P(ParseError, NamesThePlaceAndWhatWasExpected) {
  const auto program = parse(GetParam().text, "t.mil");
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().code(), Code::kParseError);
  EXPECT_EQ(program.status().message(), GetParam().message);
}

const std::string kConst = "const()[name = string(\"c\"), val = ";

INSTANTIATE_TEST_SUITE_P(
    All, ParseError,
    ::testing::Values(
        ErrorCase{"Empty", "", "[t.mil:1:1] expected program, got the end of the text"},
        ErrorCase{"StrayCharacter", "program(1.0) $",
                  "[t.mil:1:14] expected a token of MIL, got a stray character"},
        ErrorCase{"Version", "program(x)", "[t.mil:1:9] expected a version like 1.0, got 'x'"},
        ErrorCase{"Trailing", "program(1.0){} more",
                  "[t.mil:1:16] expected the end of the text, got 'more'"},
        ErrorCase{"Target", "program(1.0){func f<ios99>",
                  "[t.mil:1:21] expected a target like ios18, got 'ios99'"},
        ErrorCase{"UndefinedName", in_function("fp32 y = add(x = z)[];"),
                  "[t.mil:4:18] expected a name that is defined before its use"},
        ErrorCase{"DoubledName", in_function("fp32 x = relu(x = x)[];"),
                  "[t.mil:4:1] expected a new name, got one that is defined already"},
        ErrorCase{"DoubledParameter", in_function("fp32 y = add(x = x, x = x)[];"),
                  "[t.mil:4:21] expected a new parameter, got one that is bound"},
        ErrorCase{"DoubledAttribute", in_function("fp32 y = f()[a = int32(1), a = int32(1)];"),
                  "[t.mil:4:28] expected a new attribute, got one that is set"},
        ErrorCase{"MissingSemicolon", in_function("fp32 y = relu(x = x)[]"),
                  "[t.mil:5:1] expected ';', got '}'"},
        ErrorCase{"UnknownType", in_function("fp99 y = relu(x = x)[];"),
                  "[t.mil:4:1] expected a type, got 'fp99'"},
        ErrorCase{"TooFewElements",
                  in_function("int32 c = " + kConst + "tensor<int32, [3]>([1, 2])];"),
                  "[t.mil:4:64] expected 3 elements, got 2"},
        ErrorCase{"ClaimsMoreThanTheTextHolds",
                  in_function("int32 c = " + kConst + "tensor<int32, [281474976710656]>([1])];"),
                  "[t.mil:4:78] expected 281474976710656 elements, got 1"},
        ErrorCase{"OutOfRange", in_function("int8 c = " + kConst + "int8(128)];"),
                  "[t.mil:4:49] expected an int8 value, got '128'"},
        ErrorCase{"NoNumber", in_function("fp16 c = " + kConst + "fp16(1.2.3)];"),
                  "[t.mil:4:49] expected an fp16 value, got '1.2.3'"},
        ErrorCase{"LeftOutElements",
                  in_function("fp16 c = " + kConst + "tensor<fp16, [99]>(...)];"),
                  "[t.mil:4:63] expected '[', got '...'"},
        ErrorCase{"UnknownDimensionOfAValue",
                  in_function("fp16 c = " + kConst + "tensor<fp16, [?]>([1])];"),
                  "[t.mil:4:62] expected a value of fixed shape, not of [?], got '['"},
        ErrorCase{"BadEscape", in_function("fp32 y = f()[a = string(\"\\q\")];"),
                  "[t.mil:4:26] expected an escape out of \\\" \\\\ \\n \\t \\r \\xNN"},
        ErrorCase{"OpenString", in_function("fp32 y = f()[a = string(\"abc)];"),
                  "[t.mil:4:32] expected '\"', got the end of the line"}),
    [](const auto& info) { return info.param.name; });

TEST(Parse, BoundsTheNestingOfBlocks) {
  std::string text = "program(1.0){func main<ios18>(bool p) {";
  for (int i = 0; i < 100000; ++i) text += "f()[] block() {";
  EXPECT_NE(message(text).find("blocks nested up to 32"), std::string::npos) << message(text);
}

TEST(Parse, BoundsTheNestingOfTypesAndValues) {
  std::string types = "program(1.0){func main<ios18>(";
  for (int i = 0; i < 100000; ++i) types += "list<";
  EXPECT_NE(message(types).find("types nested up to 16"), std::string::npos) << message(types);
  std::string values = in_function("f()[a = ");
  values.resize(values.find("f()[a = ") + 8);
  for (int i = 0; i < 100000; ++i) values += "list<fp32, 1>([";
  EXPECT_NE(message(values).find("values nested up to 16"), std::string::npos) << message(values);
  std::string shape = in_function("tensor<fp32, [");
  shape.resize(shape.find("tensor<fp32, [") + 14);
  for (int i = 0; i < 100000; ++i) shape += "1, ";
  EXPECT_NE(message(shape).find("at most 16 dimensions"), std::string::npos) << message(shape);
}

}  // namespace
}  // namespace anemone::ir
