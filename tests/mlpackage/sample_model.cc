// SPDX-License-Identifier: Apache-2.0
#include "tests/mlpackage/sample_model.h"

#include <gtest/gtest.h>

#include "tensor/bits.h"

namespace anemone::mlpackage::testing {

using ir::Literal;
using ir::Type;

ir::Op* BlockWriter::op(std::string type, std::string name,
                        std::vector<std::pair<std::string, ir::Arguments>> inputs,
                        std::vector<Type> outputs) {
  ir::Op* op = program_.add_op();
  op->type = std::move(type);
  op->name = name;
  for (auto& [parameter, arguments] : inputs) op->inputs.emplace(parameter, std::move(arguments));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    op->outputs.push_back(program_.add_value(
        outputs.size() == 1 ? name : name + "_" + std::to_string(i), std::move(outputs[i]), op));
  block_.ops.push_back(op);
  return op;
}

ir::Value* BlockWriter::constant(std::string name, Literal literal) {
  ir::Op* op = this->op("const", std::move(name), {}, {literal.type()});
  op->attributes.emplace("val", std::move(literal));
  return op->outputs[0];
}

Tensor counting_tensor(DType dtype, Shape shape) {
  Tensor tensor(dtype, std::move(shape));
  const auto view = tensor.mutable_view();
  const auto count = static_cast<std::size_t>(view.size());
  if (is_sub_byte(dtype)) {
    std::vector<std::int32_t> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int32_t>(i % 2);
    pack_bits(values, dtype, view.bytes());
    return tensor;
  }
  // Exact bytes matter, not numbers: every pattern below is a plain value of its type.
  const std::size_t size = static_cast<std::size_t>(dtype_bits(dtype)) / 8;
  for (std::size_t i = 0; i < count; ++i) view.data[i * size] = static_cast<std::byte>(i % 2);
  return tensor;
}

Model plain_model() {
  Model model;
  ir::Function* main = model.program.add_function("main", ir::Opset::kIOS18);
  const Type row = Type::tensor(DType::kFp16, {1, 4});
  ir::Value* x = model.program.add_value("x", row);
  ir::Value* cache = model.program.add_value("cache", Type::state(DType::kFp16, {1, 4}));
  main->inputs = {x, cache};
  BlockWriter block(model.program, *main->block);
  ir::Value* weight = block.constant("weight", Literal::of(counting_tensor(DType::kFp16, {4, 4})));
  ir::Value* bias = block.constant("bias", Literal::of(counting_tensor(DType::kFp16, {4})));
  ir::Value* old = block.op("read_state", "old", {{"input", {cache}}}, {row})->outputs[0];
  ir::Value* sum = block.op("add", "sum", {{"x", {x}}, {"y", {old}}}, {row})->outputs[0];
  block.op("write_state", "keep", {{"input", {cache}}, {"data", {sum}}}, {});
  ir::Value* y =
      block.op("linear", "y", {{"x", {sum}}, {"weight", {weight}}, {"bias", {bias}}}, {row})
          ->outputs[0];
  main->block->outputs = {y};
  auto interface = describe_function(*main);
  EXPECT_TRUE(interface.ok()) << interface.status().message();
  model.functions.push_back(std::move(*interface));
  return model;
}

namespace {

constexpr DType kNumbers[] = {DType::kBool,   DType::kFp16,   DType::kFp32,  DType::kFp64,
                              DType::kBf16,   DType::kInt4,   DType::kInt8,  DType::kInt16,
                              DType::kInt32,  DType::kInt64,  DType::kUInt1, DType::kUInt2,
                              DType::kUInt3,  DType::kUInt4,  DType::kUInt6, DType::kUInt8,
                              DType::kUInt16, DType::kUInt32, DType::kUInt64};

Type tuple_of(std::vector<Type> members) {
  Type type;
  type.kind = Type::Kind::kTuple;
  type.members = std::move(members);
  return type;
}

void add_constants(BlockWriter& block) {
  for (const DType dtype : kNumbers) {
    const std::string name(dtype_name(dtype));
    block.constant(name + "_scalar", Literal::of(counting_tensor(dtype, {})));
    block.constant(name + "_small", Literal::of(counting_tensor(dtype, {3})));
    block.constant(name + "_large", Literal::of(counting_tensor(dtype, {3, 7})));
    block.constant(name + "_empty", Literal::of(counting_tensor(dtype, {0, 4})));
  }
  const Type text = Type::scalar(DType::kString);
  block.constant("text", Literal::text("gr\xC3\xB6\xC3\x9F"
                                       "er \"quoted\" \n"));
  block.constant("no_text", Literal::text(""));
  block.constant("texts",
                 Literal(Type::tensor(DType::kString, {2, 1}), Literal::Strings{"a", "b"}));
  block.constant(
      "list", Literal(Type::list(text, 2), Literal::List{Literal::text("a"), Literal::text("b")}));
  block.constant("open_list", Literal(Type::list(text, kDynamic), Literal::List{}));
  block.constant(
      "tuple",
      Literal(tuple_of({Type::scalar(DType::kInt32), Type::tensor(DType::kFp16, {20})}),
              Literal::List{Literal::int32(7), Literal::of(counting_tensor(DType::kFp16, {20}))}));
  block.constant(
      "classes",
      Literal(Type::dictionary(text, Type::scalar(DType::kFp32)),
              Literal::Dictionary{{Literal::text("no"), Literal::number(0.25, DType::kFp32)},
                                  {Literal::text("yes"), Literal::number(-1, DType::kFp32)}}));
}

void add_constexprs(BlockWriter& block) {
  const Type dense = Type::tensor(DType::kFp16, {8, 4});
  // Parameters bound in place, one of them to another constexpr.
  ir::Value* lut = block
                       .op("constexpr_blockwise_shift_scale", "lut",
                           {{"data", {Literal::of(counting_tensor(DType::kInt8, {1, 1, 16, 1}))}},
                            {"scale", {Literal::of(counting_tensor(DType::kFp16, {1, 1, 1, 1}))}}},
                           {Type::tensor(DType::kFp16, {1, 1, 16, 1})})
                       ->outputs[0];
  block.op("constexpr_lut_to_dense", "palette",
           {{"indices", {Literal::of(counting_tensor(DType::kUInt4, {8, 4}))}}, {"lut", {lut}}},
           {dense});
  // The older form: parameters are attributes.
  ir::Op* affine = block.op("constexpr_affine_dequantize", "affine", {}, {dense});
  affine->attributes.emplace("quantized_data", Literal::of(counting_tensor(DType::kInt8, {8, 4})));
  affine->attributes.emplace("scale", Literal::number(0.5, DType::kFp16));
  affine->attributes.emplace("zero_point", Literal::of(counting_tensor(DType::kInt8, {})));
  affine->attributes.emplace("axis", Literal::int32(0));
}

}  // namespace

Model model_of_all_forms() {
  Model model;
  ir::Program& program = model.program;
  program.attributes.emplace("buildInfo",
                             Literal::string_dictionary({{"b-tool", "1"}, {"a-tool", "2"}}));
  ir::Function* main = program.add_function("main", ir::Opset::kIOS18);
  const Type open = Type::tensor(DType::kFp16, {1, kDynamic, 8});
  const Type flag = Type::scalar(DType::kBool);
  ir::Value* x = program.add_value("x", open);
  ir::Value* choose = program.add_value("choose", Type::tensor(DType::kInt32, {1}));
  ir::Value* cache = program.add_value("cache", Type::state(DType::kFp16, {2, 8}));
  main->inputs = {x, choose, cache};
  BlockWriter block(program, *main->block);
  add_constants(block);
  add_constexprs(block);

  ir::Value* test = block.op("cast", "test", {{"x", {choose}}}, {flag})->outputs[0];
  ir::Op* cond = block.op("cond", "either", {{"pred", {test}}}, {open, open});
  for (int branch = 0; branch < 2; ++branch) {
    ir::Block* inner = program.add_block();
    BlockWriter writer(program, *inner);
    const std::string tag = branch == 0 ? "yes" : "no";
    ir::Value* a = writer.op("relu", "a_" + tag, {{"x", {x}}}, {open})->outputs[0];
    ir::Value* b = writer.op("tanh", "b_" + tag, {{"x", {a}}}, {open})->outputs[0];
    inner->outputs = {a, b};
    cond->blocks.push_back(inner);
  }
  ir::Op* loop = block.op("while_loop", "loop", {{"loop_vars", {x, test}}}, {open, flag});
  for (int part = 0; part < 2; ++part) {
    ir::Block* inner = program.add_block();
    ir::Value* state = program.add_value("x_x0", open);
    ir::Value* go_on = program.add_value("test_x0", flag);
    inner->inputs = {state, go_on};
    inner->outputs = part == 0 ? std::vector<ir::Value*>{go_on} : std::vector{state, go_on};
    loop->blocks.push_back(inner);
  }
  const Type rows = Type::tensor(DType::kFp16, {2, 8});
  ir::Value* kept = block.op("read_state", "kept", {{"input", {cache}}}, {rows})->outputs[0];
  block.op("write_state", "put", {{"input", {cache}}, {"data", {kept}}}, {});
  ir::Value* y =
      block
          .op("concat", "y", {{"values", {cond->outputs[0], loop->outputs[0], cond->outputs[1]}}},
              {Type::tensor(DType::kFp16, {1, kDynamic, 8})})
          ->outputs[0];
  main->block->outputs = {y, kept};
  auto interface = describe_function(*main, {{"x", {{1, 4, 8}, {{{1, 1}, {1, 64}, {8, 8}}, {}}}}});
  EXPECT_TRUE(interface.ok()) << interface.status().message();
  model.functions.push_back(std::move(*interface));
  model.metadata = {"short", "1.2", "author", "license", {{"z", "last"}, {"a", "first"}}};
  return model;
}

Model two_function_model() {
  Model model;
  model.is_multifunction = true;
  model.default_function = "decode";
  const auto shared = ir::owned_data(counting_tensor(DType::kFp16, {4, 4}));
  for (const auto& [name, tokens] : {std::pair("decode", 1), std::pair("prefill", 64)}) {
    ir::Function* function = model.program.add_function(name, ir::Opset::kIOS18);
    const Type rows = Type::tensor(DType::kFp16, {tokens, 4});
    ir::Value* x = model.program.add_value("x", rows);
    function->inputs = {x, model.program.add_value("cache", Type::state(DType::kFp16, {1, 4}))};
    BlockWriter block(model.program, *function->block);
    ir::Value* weight =
        block.constant("weight", Literal(Type::tensor(DType::kFp16, {4, 4}), shared));
    ir::Value* y = block.op("linear", "y", {{"x", {x}}, {"weight", {weight}}}, {rows})->outputs[0];
    function->block->outputs = {y};
    auto interface = describe_function(*function);
    EXPECT_TRUE(interface.ok()) << interface.status().message();
    model.functions.push_back(std::move(*interface));
  }
  return model;
}

}  // namespace anemone::mlpackage::testing
