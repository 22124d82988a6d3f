// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "ir/builder.h"
#include "ir/text.h"
#include "tensor/bits.h"
#include "tests/ir/test_registry.h"

namespace anemone::ir {
namespace {

// In both syntaxes, whatever the targets of the functions.
void expect_round_trip(const Program& program) {
  for (const Syntax syntax : {Syntax::kTensors, Syntax::kScalars}) {
    const std::string text = print(program, {.syntax = syntax});
    auto parsed = parse(text, "text");
    ASSERT_TRUE(parsed.ok()) << parsed.status().message() << "\n" << text;
    const auto difference = first_difference(program, *parsed);
    ASSERT_TRUE(difference.ok()) << difference.status().message();
    EXPECT_EQ(*difference, "") << text;
    EXPECT_EQ(print(*parsed, {.syntax = syntax}), text);
  }
}

// A function whose only operation is a constant.
Program with_constant(Literal literal) {
  Program program;
  Builder b(program, test_registry(), "main", Opset::kIOS18);
  EXPECT_TRUE(b.finish({b.constant(std::move(literal), "c")}).ok());
  return program;
}

std::string constant_text(Literal literal) {
  const std::string text = print(with_constant(std::move(literal)));
  const std::size_t begin = text.find("val = ") + 6;
  return text.substr(begin, text.find("];\n") - begin);
}

template <typename T>
Literal tensor(Shape shape, const std::vector<T>& values) {
  return Literal::of(Tensor::from<T>(std::move(shape), std::span<const T>(values)));
}

TEST(RoundTrip, KeepsEveryHalfBitForBit) {
  std::vector<Half> values;
  for (std::uint32_t bits = 0; bits < 65536; ++bits)
    values.push_back(Half{static_cast<std::uint16_t>(bits)});
  expect_round_trip(with_constant(tensor<Half>({65536}, values)));
}

TEST(RoundTrip, KeepsFloatsBitForBit) {
  std::vector<float> values = {0.0f,
                               -0.0f,
                               1.0f / 3,
                               std::numeric_limits<float>::denorm_min(),
                               std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::quiet_NaN(),
                               std::bit_cast<float>(0xffc12345u)};
  std::uint32_t bits = 1;
  for (int i = 0; i < 2000; ++i) {
    bits = bits * 1664525u + 1013904223u;
    values.push_back(std::bit_cast<float>(bits));
  }
  const auto count = static_cast<std::int64_t>(values.size());
  expect_round_trip(with_constant(tensor<float>({count}, values)));
  expect_round_trip(with_constant(
      tensor<double>({3}, {0.1, -std::numeric_limits<double>::denorm_min(), std::nan("")})));
  expect_round_trip(with_constant(tensor<BFloat16>({2}, {BFloat16{0x3f81}, BFloat16{0x7fff}})));
}

TEST(RoundTrip, KeepsTheEndsOfEveryIntegerType) {
  const auto ends = []<typename T>(T) {
    expect_round_trip(with_constant(
        tensor<T>({3}, {std::numeric_limits<T>::min(), 1, std::numeric_limits<T>::max()})));
  };
  ends(std::int8_t{});
  ends(std::uint8_t{});
  ends(std::int16_t{});
  ends(std::uint16_t{});
  ends(std::int32_t{});
  ends(std::uint32_t{});
  ends(std::int64_t{});
  ends(std::uint64_t{});
  expect_round_trip(with_constant(Literal::bools({true, false})));
}

TEST(RoundTrip, KeepsPackedIntegers) {
  const std::pair<DType, std::vector<std::int32_t>> cases[] = {
      {DType::kInt4, {-8, -1, 0, 1, 7}}, {DType::kUInt1, {0, 1, 1}},
      {DType::kUInt2, {0, 1, 2, 3}},     {DType::kUInt3, {0, 7, 5}},
      {DType::kUInt4, {0, 15, 9}},       {DType::kUInt6, {0, 63, 33, 1, 2}}};
  for (const auto& [dtype, values] : cases) {
    Tensor packed(dtype, {static_cast<std::int64_t>(values.size())});
    pack_bits(values, dtype, packed.mutable_view().bytes());
    expect_round_trip(with_constant(Literal::of(std::move(packed))));
  }
}

TEST(RoundTrip, KeepsStringsWithAnyBytes) {
  std::string bytes;
  for (int c = 0; c < 256; ++c) bytes += static_cast<char>(c);
  expect_round_trip(with_constant(Literal::text(bytes)));
  expect_round_trip(with_constant(Literal::text("")));
  expect_round_trip(with_constant(
      Literal(Type::tensor(DType::kString, {2}), Literal::Strings{"a\"b\\", "// no comment"})));
}

TEST(RoundTrip, KeepsShapesWithAndWithoutElements) {
  expect_round_trip(with_constant(tensor<float>({2, 1, 3}, {1, 2, 3, 4, 5, 6})));
  expect_round_trip(with_constant(tensor<float>({0}, {})));
  expect_round_trip(with_constant(tensor<float>({1000000, 0}, {})));
  expect_round_trip(with_constant(tensor<float>({1, 1, 1, 1, 1, 1, 1, 1}, {1})));
}

TEST(RoundTrip, KeepsListsTuplesAndDictionaries) {
  const Type text = Type::scalar(DType::kString);
  expect_round_trip(with_constant(
      Literal(Type::list(text, 2), Literal::List{Literal::text("a"), Literal::text("b")})));
  expect_round_trip(with_constant(Literal(Type::list(text, kDynamic), Literal::List{})));
  const Type pair = Type::tensor(DType::kInt32, {2});
  expect_round_trip(with_constant(Literal(
      Type::list(pair, 2), Literal::List{Literal::int32s({1, 2}), Literal::int32s({3, 4})})));
  Type tuple;
  tuple.kind = Type::Kind::kTuple;
  tuple.members = {text, Type::scalar(DType::kFp32)};
  expect_round_trip(with_constant(
      Literal(tuple, Literal::List{Literal::text("a"), Literal::number(0.5, DType::kFp32)})));
  expect_round_trip(with_constant(Literal::string_dictionary({{"k", "v"}, {"", "\n"}})));
  expect_round_trip(with_constant(Literal(
      Type::dictionary(Type::scalar(DType::kInt64), tuple),
      Literal::Dictionary{
          {tensor<std::int64_t>({}, {5}),
           Literal(tuple, Literal::List{Literal::text("x"), Literal::number(2, DType::kFp32)})}})));
}

TEST(RoundTrip, KeepsFunctionsStatesAndAttributes) {
  Program program;
  program.attributes.emplace("buildInfo", Literal::string_dictionary({{"tool", "test"}}));
  for (const char* name : {"decode", "prefill"}) {
    Builder b(program, test_registry(), name, Opset::kIOS18);
    Value* x = b.input("x", Type::tensor(DType::kFp16, {1, kDynamic}));
    Value* state = b.input("cache", Type::state(DType::kFp16, {1, 4}));
    Value* read = b.read_state(state, "read");
    Value* sum = b.op("add", {{"x", read}, {"y", x}}, "sum");
    b.write_state(state, read, "write");
    const auto parts = b.ops("split", {{"x", sum}}, 2, "parts");
    ASSERT_EQ(parts.size(), 2u) << b.status().message();
    Value* both = b.op("concat", {{"values", std::vector<Value*>{parts[0], parts[1]}}}, "both");
    Value* weight = b.constexpr_op(
        "constexpr_cast", {{"source_val", tensor<Half>({2}, {to_half(1), to_half(2)})}}, "weight");
    ASSERT_TRUE(b.finish({both, weight}).ok()) << b.status().message();
  }
  expect_round_trip(program);
}

TEST(RoundTrip, KeepsBlocksInBlocks) {
  Program program;
  Builder b(program, test_registry(), "main", Opset::kIOS17);
  Value* pred = b.input("pred", Type::scalar(DType::kBool));
  Value* x = b.input("x", Type::tensor(DType::kFp32, {2}));
  ir::Block* outer = b.function().block;
  for (const char* name : {"a", "b", "c"}) {
    Op* cond = program.add_op();
    cond->type = "cond";
    cond->name = name;
    cond->inputs.emplace("pred", Arguments{pred});
    cond->blocks = {program.add_block(), program.add_block()};
    for (Block* inner : cond->blocks) {
      // Two blocks beside each other may use the same names.
      inner->inputs.push_back(program.add_value("in", Type::scalar(DType::kFp32)));
      Op* add = program.add_op();
      add->type = "add";
      add->name = "add";
      add->inputs.emplace("x", Arguments{x});
      add->inputs.emplace("y", Arguments{inner->inputs[0]});
      add->outputs.push_back(program.add_value("sum", Type::tensor(DType::kFp32, {2}), add));
      inner->ops.push_back(add);
      inner->outputs = {add->outputs[0]};
    }
    cond->outputs.push_back(
        program.add_value(std::string("out_") + name, Type::tensor(DType::kFp32, {2}), cond));
    outer->ops.push_back(cond);
  }
  ASSERT_TRUE(b.finish({outer->ops.back()->outputs[0]}).ok());
  expect_round_trip(program);
}

TEST(RoundTrip, KeepsNamesThatAreNoIdentifiersOrLookLikeTypes) {
  Program program;
  Builder b(program, test_registry(), "main", Opset::kIOS15);
  Value* x = b.input("x", Type::tensor(DType::kFp32, {2}));
  Value* y = b.op("add", {{"x", x}, {"y", x}}, "tensor_workaround");
  ASSERT_TRUE(b.finish({y}).ok());
  x->name = "fp16";
  y->name = "layers.0/out put\"";
  y->producer->name = "layers.0";
  expect_round_trip(program);
}

TEST(Print, WritesValuesAsTheCompilerDoes) {
  EXPECT_EQ(constant_text(Literal::number(0.125, DType::kFp16)), "fp16(0x1p-3)");
  EXPECT_EQ(constant_text(Literal::int32(-5)), "int32(-5)");
  EXPECT_EQ(constant_text(Literal::boolean(true)), "bool(true)");
  EXPECT_EQ(constant_text(Literal::text("a\nb")), "string(\"a\\nb\")");
  EXPECT_EQ(constant_text(tensor<std::int32_t>({2, 2}, {1, 2, 3, 4})),
            "tensor<int32, [2, 2]>([[1, 2], [3, 4]])");
  EXPECT_EQ(constant_text(Literal::string_dictionary({{"a", "b"}})),
            "dict<string, string>({{\"a\", \"b\"}})");
}

TEST(Print, LeavesLongConstantsOutWhenAsked) {
  const Program program = with_constant(tensor<float>({3}, {1, 2, 3}));
  const std::string text = print(program, {.max_elements = 2});
  EXPECT_NE(text.find("val = tensor<fp32, [3]>(...)"), std::string::npos) << text;
  EXPECT_FALSE(parse(text, "text").ok());
}

// What print() writes of one small function for a target.
std::string text_for(Opset opset) {
  Program program;
  program.attributes.emplace("buildInfo", Literal::string_dictionary({{"tool", "test"}}));
  Builder b(program, test_registry(), "main", opset);
  Value* x = b.input("x", Type::tensor(DType::kFp16, {1, 4}));
  Value* half = b.constant(Literal::number(0.5, DType::kFp16), "half");
  EXPECT_TRUE(b.finish({b.op("add", {{"x", x}, {"y", half}}, "y")}).ok());
  return print(program);
}

TEST(Print, WritesScalarsAsTensorsUpToIos17) {
  for (const auto& [opset, target] :
       {std::pair{Opset::kIOS15, "ios15"}, {Opset::kIOS16, "ios16"}, {Opset::kIOS17, "ios17"}})
    EXPECT_EQ(text_for(opset), std::string("program(1.0)\n"
                                           "[buildInfo = dict<tensor<string, []>, "
                                           "tensor<string, []>>({{\"tool\", \"test\"}})]\n"
                                           "{\n"
                                           "    func main<") +
                                   target +
                                   ">(tensor<fp16, [1, 4]> x) {\n"
                                   "        tensor<fp16, []> half = const()"
                                   "[name = tensor<string, []>(\"half\"), "
                                   "val = tensor<fp16, []>(0x1p-1)];\n"
                                   "        tensor<fp16, [1, 4]> y = add(x = x, y = half)"
                                   "[name = tensor<string, []>(\"y\")];\n"
                                   "    } -> (y);\n"
                                   "}\n");
}

TEST(Print, WritesScalarsByThemselvesFromIos18On) {
  for (const auto& [opset, target] : {std::pair{Opset::kIOS18, "ios18"}, {Opset::kIOS26, "ios26"}})
    EXPECT_EQ(text_for(opset),
              std::string("program(1.3)\n"
                          "[buildInfo = dict<string, string>({{\"tool\", \"test\"}})]\n"
                          "{\n"
                          "    func main<") +
                  target +
                  ">(tensor<fp16, [1, 4]> x) {\n"
                  "        fp16 half = const()[name = string(\"half\"), val = fp16(0x1p-1)];\n"
                  "        tensor<fp16, [1, 4]> y = add(x = x, y = half)[name = string(\"y\")];\n"
                  "    } -> (y);\n"
                  "}\n");
}

TEST(Print, RefersToBlobsAndParseAsksForThem) {
  const Literal weight = tensor<float>({2}, {1, 2});
  const Program program = with_constant(weight);
  const std::string path = "@model_path/weights/w.bin";
  for (const auto& [syntax, reference] :
       {std::pair{Syntax::kScalars,
                  "path = string(\"@model_path/weights/w.bin\"), "
                  "offset = uint64(64))"},
        {Syntax::kTensors,
         "path = tensor<string, []>(\"@model_path/weights/w.bin\"), "
         "offset = tensor<uint64, []>(64))"}}) {
    PrintOptions options{.syntax = syntax};
    options.blob = [&](const Literal& literal) -> std::optional<BlobReference> {
      if (literal.data() == weight.data()) return BlobReference{path, 64};
      return std::nullopt;
    };
    const std::string text = print(program, options);
    EXPECT_NE(text.find(std::string("BLOBFILE(") + reference), std::string::npos) << text;
    EXPECT_EQ(parse(text, "text").status().code(), Code::kUnsupported);
    ParseOptions parse_options;
    parse_options.blob = [&](const Type& type, std::string_view file,
                             std::uint64_t offset) -> Result<Literal> {
      EXPECT_EQ(to_string(type), "tensor<fp32, [2]>");
      EXPECT_EQ(file, path);
      EXPECT_EQ(offset, 64u);
      return weight;
    };
    auto parsed = parse(text, "text", parse_options);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(*first_difference(program, *parsed), "");
  }
  ParseOptions any;
  any.blob = [&](const Type&, std::string_view, std::uint64_t) -> Result<Literal> {
    return weight;
  };
  const std::string text = R"(program(1.3){func main<ios18>(fp32 x) {
      tensor<fp32, [2]> w = const()[name = string("w"), val = tensor<fp32, [2]>(BLOBFILE(
          path = string("p"), offset = int32(64)))];} -> (w);})";
  EXPECT_NE(parse(text, "text", any).status().message().find("expected uint64"), std::string::npos);
}

}  // namespace
}  // namespace anemone::ir
