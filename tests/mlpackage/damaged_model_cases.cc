// SPDX-License-Identifier: Apache-2.0
// The model file and its program, damaged one thing at a time.
#include <gtest/gtest.h>

#include "base/file.h"
#include "mlpackage/package_reader.h"
#include "mlpackage/proto/mil.pb.h"
#include "mlpackage/proto/model.pb.h"
#include "tests/mlpackage/damaged_package.h"

namespace anemone::mlpackage::testing {
namespace {

std::function<void(DamagedPackage&)> model(std::function<void(wire::Model&)> edit) {
  return [=](DamagedPackage& package) { package.edit_model(edit); };
}

// The value of the constant "bias", fp16 [4] in place.
std::function<void(DamagedPackage&)> bias(std::function<void(wire::Value&)> edit) {
  return model([=](wire::Model& model) {
    edit(*block_of(model).mutable_operations(1)->mutable_attributes(1)->mutable_value());
  });
}

std::function<void(DamagedPackage&)> bytes(std::function<void(std::string&)> edit) {
  return [=](DamagedPackage& package) { package.edit_bytes(kModelFile, edit); };
}

// Length-delimited field 1..15 around `inner`, `times` times: nesting without limit, a byte or so
// each.
std::string nested(int field, std::string inner, int times) {
  for (int i = 0; i < times; ++i) {
    std::string length;
    std::size_t size = inner.size();
    for (; size >= 128; size >>= 7) length += static_cast<char>(size | 128);
    length += static_cast<char>(size);
    inner = static_cast<char>(field << 3 | 2) + length + inner;
  }
  return inner;
}

wire::ValueType scalar_type(int code) {
  wire::ValueType type;
  type.mutable_tensor_type()->set_data_type(code);
  return type;
}

void make_list(wire::Value& value, std::uint64_t length, int items) {
  value.Clear();
  auto* type = value.mutable_type()->mutable_list_type();
  *type->mutable_type() = scalar_type(23);
  type->mutable_length()->mutable_constant()->set_size(length);
  for (int i = 0; i < items; ++i) {
    auto* item = value.mutable_immediate()->mutable_list()->add_values();
    *item->mutable_type() = scalar_type(23);
    item->mutable_immediate()->mutable_tensor()->mutable_ints()->add_values(i);
  }
}

}  // namespace

const std::vector<Damage>& model_damages() {
  static const std::vector<Damage> table = {
      {"empty_file", Code::kCorrupt, "no model", bytes([](std::string& b) { b.clear(); })},
      {"text_file", Code::kCorrupt, "do not parse",
       bytes([](std::string& b) { b = "hello, world"; })},
      {"truncated", Code::kCorrupt, "do not parse",
       bytes([](std::string& b) { b.resize(b.size() / 2); })},
      {"truncated_by_one", Code::kCorrupt, "do not parse",
       bytes([](std::string& b) { b.pop_back(); })},
      {"trailing_bytes", Code::kCorrupt, "do not parse",
       bytes([](std::string& b) { b += '\x0c'; })},
      {"specification_version_5", Code::kVersionMismatch, "6 to 10, got 5",
       model([](wire::Model& m) { m.set_specification_version(5); })},
      {"specification_version_99", Code::kVersionMismatch, "6 to 10, got 99",
       model([](wire::Model& m) { m.set_specification_version(99); })},
      {"specification_version_below_the_opset", Code::kCorrupt, "version 9",
       model([](wire::Model& m) { m.set_specification_version(8); })},
      {"updatable", Code::kUnsupported, "trained",
       model([](wire::Model& m) { m.set_is_updatable(true); })},
      {"neural_network", Code::kUnsupported, "neural network",
       model([](wire::Model& m) { m.set_neural_network(""); })},
      {"pipeline", Code::kUnsupported, "pipeline",
       model([](wire::Model& m) { m.set_pipeline(""); })},
      {"tree_ensemble", Code::kUnsupported, "another kind",
       model([](wire::Model& m) { m.set_other_302(""); })},
      {"no_program", Code::kCorrupt, "no model", model([](wire::Model& m) { m.clear_program(); })},

      {"program_version", Code::kVersionMismatch, "version 1, got 2",
       model([](wire::Model& m) { m.mutable_program()->set_version(2); })},
      {"no_function", Code::kCorrupt, "\"main\"",
       model([](wire::Model& m) { m.mutable_program()->clear_functions(); })},
      {"function_name", Code::kCorrupt, "\"other\"",
       model([](wire::Model& m) { m.mutable_program()->mutable_functions(0)->set_key("other"); })},
      {"function_twice", Code::kCorrupt, "twice", model([](wire::Model& m) {
         *m.mutable_program()->add_functions() = wire::FunctionEntry(m.program().functions(0));
       })},
      {"extra_function", Code::kCorrupt, "\"more\"", model([](wire::Model& m) {
         wire::FunctionEntry extra = m.program().functions(0);
         extra.set_key("more");
         *m.mutable_program()->add_functions() = extra;
       })},
      {"opset_unknown", Code::kVersionMismatch, "CoreML99", model([](wire::Model& m) {
         m.mutable_program()->mutable_functions(0)->mutable_value()->set_opset("CoreML99");
       })},
      {"opset_without_block", Code::kCorrupt, "opset CoreML7", model([](wire::Model& m) {
         m.mutable_program()->mutable_functions(0)->mutable_value()->set_opset("CoreML7");
       })},
      {"no_block", Code::kCorrupt, "one block", model([](wire::Model& m) {
         m.mutable_program()->mutable_functions(0)->mutable_value()->clear_block_specializations();
       })},
      {"function_attributes", Code::kUnsupported, "attributes", model([](wire::Model& m) {
         m.mutable_program()->mutable_functions(0)->mutable_value()->add_attributes()->set_key("a");
       })},
      {"block_attributes", Code::kUnsupported, "attributes",
       model([](wire::Model& m) { block_of(m).add_attributes()->set_key("a"); })},
      {"attribute_twice", Code::kCorrupt, "twice", model([](wire::Model& m) {
         auto* op = block_of(m).mutable_operations(0);
         *op->add_attributes() = wire::ValueEntry(op->attributes(0));
       })},
      {"parameter_twice", Code::kCorrupt, "twice", model([](wire::Model& m) {
         auto* op = block_of(m).mutable_operations(3);
         *op->add_inputs() = wire::ArgumentEntry(op->inputs(0));
       })},
      {"binding_without_content", Code::kCorrupt, "got neither", model([](wire::Model& m) {
         block_of(m).mutable_operations(3)->mutable_inputs(0)->mutable_value()->add_arguments();
       })},
      {"block_output_name", Code::kCorrupt, "\"y\"",
       model([](wire::Model& m) { block_of(m).set_outputs(0, "ghost"); })},
      {"block_output_twice", Code::kCorrupt, "twice",
       model([](wire::Model& m) { block_of(m).add_outputs("y"); })},
      {"output_type", Code::kCorrupt, "(output y)", model([](wire::Model& m) {
         block_of(m)
             .mutable_operations(5)
             ->mutable_outputs(0)
             ->mutable_type()
             ->mutable_tensor_type()
             ->mutable_dimensions(1)
             ->mutable_constant()
             ->set_size(5);
       })},
      {"input_type", Code::kCorrupt, "(input x)", model([](wire::Model& m) {
         m.mutable_program()
             ->mutable_functions(0)
             ->mutable_value()
             ->mutable_inputs(0)
             ->mutable_type()
             ->mutable_tensor_type()
             ->set_data_type(11);
       })},
      {"state_type", Code::kCorrupt, "got one of kind state", model([](wire::Model& m) {
         auto* function = m.mutable_program()->mutable_functions(0)->mutable_value();
         *function->mutable_inputs(1)->mutable_type() = wire::ValueType(function->inputs(0).type());
       })},
      {"state_of_a_list", Code::kCorrupt, "wrap a tensor", model([](wire::Model& m) {
         auto* function = m.mutable_program()->mutable_functions(0)->mutable_value();
         *function->mutable_inputs(1)
              ->mutable_type()
              ->mutable_state_type()
              ->mutable_wrapped_type()
              ->mutable_list_type()
              ->mutable_type() = scalar_type(10);
       })},

      {"value_without_type", Code::kCorrupt, "expected a type",
       bias([](wire::Value& v) { v.clear_type(); })},
      {"value_missing", Code::kCorrupt, "got none",
       bias([](wire::Value& v) { v.clear_immediate(); })},
      {"value_too_short", Code::kCorrupt, "8 bytes for 4 fp16 values, got 7",
       bias([](wire::Value& v) {
         v.mutable_immediate()
             ->mutable_tensor()
             ->mutable_bytes_values()
             ->mutable_values()
             ->pop_back();
       })},
      {"value_of_another_field", Code::kCorrupt, "field of fp32", bias([](wire::Value& v) {
         auto* floats = v.mutable_immediate()->mutable_tensor()->mutable_floats();
         for (int i = 0; i < 4; ++i) floats->add_values(1);
       })},
      {"value_as_strings", Code::kCorrupt, "field of strings",
       bias([](wire::Value& v) { v.mutable_immediate()->mutable_tensor()->mutable_strings(); })},
      {"value_out_of_range", Code::kCorrupt, "fit int8, got 128", bias([](wire::Value& v) {
         *v.mutable_type() = scalar_type(21);
         v.mutable_immediate()->mutable_tensor()->mutable_ints()->add_values(128);
       })},
      {"value_below_range", Code::kCorrupt, "fit uint4, got -1", bias([](wire::Value& v) {
         *v.mutable_type() = scalar_type(35);
         v.mutable_immediate()->mutable_tensor()->mutable_ints()->add_values(-1);
       })},
      {"value_of_unknown_size", Code::kCorrupt, "at least 0", bias([](wire::Value& v) {
         v.mutable_type()->mutable_tensor_type()->mutable_dimensions(0)->mutable_unknown();
       })},
      {"value_of_a_state", Code::kCorrupt, "no such value", bias([](wire::Value& v) {
         *v.mutable_type()->mutable_state_type()->mutable_wrapped_type() = scalar_type(10);
       })},
      {"string_not_utf8", Code::kCorrupt, "UTF-8", model([](wire::Model& m) {
         block_of(m)
             .mutable_operations(1)
             ->mutable_attributes(0)
             ->mutable_value()
             ->mutable_immediate()
             ->mutable_tensor()
             ->mutable_strings()
             ->set_values(0, "\xff");
       })},
      {"rank_against_dimensions", Code::kCorrupt, "3 dimensions",
       bias([](wire::Value& v) { v.mutable_type()->mutable_tensor_type()->set_rank(3); })},
      {"variable_rank", Code::kUnsupported, "fixed rank",
       bias([](wire::Value& v) { v.mutable_type()->mutable_tensor_type()->set_rank(-1); })},
      {"variadic_dimension", Code::kUnsupported, "variadic", bias([](wire::Value& v) {
         v.mutable_type()
             ->mutable_tensor_type()
             ->mutable_dimensions(0)
             ->mutable_unknown()
             ->set_variadic(true);
       })},
      {"dimension_without_content", Code::kCorrupt, "dimension", bias([](wire::Value& v) {
         v.mutable_type()->mutable_tensor_type()->mutable_dimensions(0)->Clear();
       })},
      {"dimension_too_large", Code::kCorrupt, "dimension of at most", bias([](wire::Value& v) {
         v.mutable_type()
             ->mutable_tensor_type()
             ->mutable_dimensions(0)
             ->mutable_constant()
             ->set_size(UINT64_MAX);
       })},
      {"tensor_attributes", Code::kUnsupported, "attributes",
       bias([](wire::Value& v) { v.mutable_type()->mutable_tensor_type()->add_attributes(); })},
      {"list_of_another_length", Code::kCorrupt, "3 items",
       bias([](wire::Value& v) { make_list(v, 3, 2); })},
      {"list_of_another_type", Code::kCorrupt, "item of type", bias([](wire::Value& v) {
         make_list(v, 1, 1);
         *v.mutable_type()->mutable_list_type()->mutable_type() = scalar_type(24);
       })},
      {"dictionary_of_another_type", Code::kCorrupt, "entry of a", bias([](wire::Value& v) {
         v.Clear();
         auto* type = v.mutable_type()->mutable_dictionary_type();
         *type->mutable_key_type() = scalar_type(23);
         *type->mutable_value_type() = scalar_type(23);
         auto* entry = v.mutable_immediate()->mutable_dictionary()->add_values();
         for (auto* part : {entry->mutable_key(), entry->mutable_value()}) {
           *part->mutable_type() = scalar_type(24);
           part->mutable_immediate()->mutable_tensor()->mutable_long_ints()->add_values(1);
         }
       })},

      {"types_nested_20_deep", Code::kCorrupt, "nested at most 16", bias([](wire::Value& v) {
         v.Clear();
         auto* type = v.mutable_type();
         for (int i = 0; i < 20; ++i) type = type->mutable_list_type()->mutable_type();
         *type = scalar_type(10);
       })},
      {"blocks_nested_40_deep", Code::kCorrupt, "nested at most 32", model([](wire::Model& m) {
         wire::Block* block = &block_of(m);
         for (int i = 0; i < 40; ++i) block = block->add_operations()->add_blocks();
       })},
      {"messages_nested_1000_deep", Code::kCorrupt, "do not parse", bytes([](std::string& b) {
         // Program.functions.value.block_specializations.value.operations, then blocks in blocks.
         std::string inner = nested(4, "", 1);
         for (int i = 0; i < 1000; ++i) inner = nested(4, nested(3, std::move(inner), 1), 1);
         const std::string function = nested(3, nested(2, nested(3, inner, 1), 1), 1);
         const std::string program = nested(2, nested(2, function, 1), 1);
         // Field 502 of the model has a key of two bytes.
         std::string field = nested(1, program, 1);
         b += "\xb2\x1f" + field.substr(1);
       })},
  };
  return table;
}

}  // namespace anemone::mlpackage::testing
