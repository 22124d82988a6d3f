// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/prepare.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "base/error.h"
#include "base/name_index.h"
#include "exec/cpu/loaded_constants.h"
#include "ops/registry.h"

namespace anemone::exec {
namespace {

using Kind = PreparedOp::Kind;

// A default value is one number that fills a tensor. A tensor of more elements than this means that
// the description is damaged.
constexpr std::int64_t kMaxDefaultElements = 1 << 26;

// Operations that the interpreter does itself; everything else needs a kernel.
Kind kind_of(std::string_view type) {
  static constexpr std::pair<std::string_view, Kind> kOwn[] = {
      {"read_state", Kind::kReadState},
      {"write_state", Kind::kWriteState},
      {"cond", Kind::kCond},
      {"classify", Kind::kClassify},
      {"while_loop", Kind::kWhile},
      {"make_list", Kind::kMakeList},
      {"list_length", Kind::kListLength},
      {"list_read", Kind::kListRead},
      {"list_write", Kind::kListWrite},
      {"list_gather", Kind::kListGather},
      {"list_scatter", Kind::kListScatter},
  };
  for (const auto& [name, kind] : kOwn)
    if (name == type) return kind;
  return Kind::kKernel;
}

Feature feature_of(const std::string& name, const ir::Type& type) {
  Feature feature;
  feature.name = name;
  feature.dtype = type.dtype;
  feature.shape = type.shape.empty() ? Shape{1} : type.shape;
  return feature;
}

class FunctionBuilder {
 public:
  FunctionBuilder(const ir::Function& function, std::shared_ptr<const Signature> signature,
                  LoadedConstants& constants)
      : constants_(constants) {
    out_.function = &function;
    out_.signature = std::move(signature);
  }

  Result<PreparedFunction> build() {
    const ir::Function& function = *out_.function;
    const NameIndex inputs(out_.signature->inputs);
    const NameIndex states(out_.signature->states);
    for (const ir::Value* input : function.inputs) {
      const bool is_state = input->type.is_state();
      const Feature* feature = (is_state ? states : inputs).find(input->name);
      if (feature == nullptr)
        return corrupt("[{}] expected {} with a description, got none", input->name,
                       is_state ? "a state" : "an input");
      if (is_state) {
        state_of_[input] = static_cast<int>(out_.states.size());
        out_.states.push_back(feature);
      } else {
        ANEMONE_RETURN_IF_ERROR(add_input(*input, *feature));
      }
    }
    ANEMONE_RETURN_IF_ERROR(fill(*function.block, out_.block).with("function " + function.name));
    const NameIndex outputs(function.block->outputs);
    for (const Feature& feature : out_.signature->outputs)
      ANEMONE_RETURN_IF_ERROR(add_output(feature, outputs.find(feature.name)));
    return std::move(out_);
  }

 private:
  int new_register(const ir::Value* value) {
    const int reg = static_cast<int>(out_.initial.size());
    out_.initial.emplace_back();
    out_.types.emplace_back();
    out_.is_shape_dependent.push_back(false);
    if (value != nullptr) register_of_[value] = reg;
    return reg;
  }

  int new_typed_register(const ir::Value& value) {
    const int reg = new_register(&value);
    out_.types.back() = value.type;
    return reg;
  }

  // A constant's type is that of its value, which may say more than the program does.
  void fill_register(int reg, Register value) {
    const auto at = static_cast<std::size_t>(reg);
    out_.types[at] = value.text.has_value() ? ir::Type::scalar(DType::kString)
                                            : ir::Type::tensor(value.view.dtype, value.view.shape);
    out_.initial[at] = std::move(value);
  }

  int register_of(const ir::Value* value) const {
    const auto it = register_of_.find(value);
    ANEMONE_CHECK(it != register_of_.end());
    return it->second;
  }

  Status add_input(const ir::Value& value, const Feature& feature) {
    PreparedInput input;
    input.reg = new_typed_register(value);
    input.type = &value.type;
    input.feature = &feature;
    const Shape& shape = value.type.shape;
    const Shape described = shape.empty() ? Shape{1} : shape;
    if (feature.dtype != value.type.dtype ||
        !ir::is_compatible(ir::Type::tensor(feature.dtype, described),
                           ir::Type::tensor(feature.dtype, feature.shape)))
      return corrupt("[{}] is described as {} {}, the program has {}", value.name,
                     dtype_name(feature.dtype), to_string(feature.shape),
                     ir::to_string(value.type));
    if (feature.is_optional && feature.default_value.has_value()) {
      const Shape& wanted = feature.default_shape.empty() ? feature.shape : feature.default_shape;
      if (!is_static(wanted))
        return corrupt("[{}] expected a fixed shape for the default value, got {}", value.name,
                       to_string(wanted));
      ANEMONE_RETURN_IF_ERROR(check_shape(feature, wanted));
      ANEMONE_ASSIGN_OR_RETURN(const std::int64_t count, checked_element_count(wanted));
      if (count > kMaxDefaultElements)
        return corrupt("[{}] expected a default value of at most {} elements, got {}", value.name,
                       kMaxDefaultElements, to_string(wanted));
      const std::vector<float> values(static_cast<std::size_t>(count),
                                      static_cast<float>(*feature.default_value));
      Tensor tensor(feature.dtype, wanted);
      store_floats(values, tensor.mutable_view());
      input.default_value = std::make_shared<const Tensor>(std::move(tensor));
    }
    out_.inputs.push_back(std::move(input));
    return {};
  }

  // `value`: null where the function has no output of that name.
  Status add_output(const Feature& feature, ir::Value* const* value) {
    if (value == nullptr)
      return corrupt("[{}] expected an output of function {}, got an unknown name", feature.name,
                     out_.function->name);
    const std::optional<ir::Type> tensor = output_type(**value);
    if (!tensor)
      return unsupported("[{}] expected a tensor of numbers as output, got {}", feature.name,
                         ir::to_string((*value)->type));
    const ir::Type& type = *tensor;
    const Shape described = type.shape.empty() ? Shape{1} : type.shape;
    if (feature.dtype != type.dtype ||
        !ir::is_compatible(ir::Type::tensor(type.dtype, feature.shape),
                           ir::Type::tensor(type.dtype, described)))
      return corrupt("[{}] is described as {} {}, the program has {}", feature.name,
                     dtype_name(feature.dtype), to_string(feature.shape), ir::to_string(type));
    out_.outputs.push_back({register_of(*value), &feature});
    return {};
  }

  Status fill(const ir::Block& block, PreparedBlock& out) {
    for (const ir::Value* input : block.inputs) out.inputs.push_back(new_typed_register(*input));
    for (const ir::Op* op : block.ops) {
      if (op->is_const()) {
        auto reg = constants_.reg(op->attributes.find("val")->second);
        if (!reg.ok()) return reg.status().with("constant " + op->name);
        fill_register(new_register(op->outputs[0]), std::move(*reg));
        continue;
      }
      PreparedOp prepared;
      ANEMONE_RETURN_IF_ERROR(fill(*op, prepared));
      out.ops.push_back(std::move(prepared));
    }
    for (const ir::Value* output : block.outputs) {
      if (state_of_.contains(output))
        return unsupported("[{}] expected a tensor as block output, got a state", output->name);
      out.outputs.push_back(register_of(output));
    }
    return {};
  }

  Status fill(const ir::Op& op, PreparedOp& out) {
    out.op = &op;
    out.kind = kind_of(op.type);
    out.schema = ops::op_registry().find(op.type);
    out.opset = out_.function->opset;
    if (out.kind == Kind::kKernel) {
      out.kernel = kernels::find_reference_kernel(op.type);
      out.updated_operand = kernels::updated_operand_of_kernel(op.type);
      if (out.kernel == nullptr || out.schema == nullptr)
        return unsupported("[{} \"{}\"] the CPU engine has no such operation", op.type, op.name);
    }
    for (const auto& [name, arguments] : op.inputs)
      ANEMONE_RETURN_IF_ERROR(operand(name, arguments, out));
    // The form of constexpr operations up to iOS17.
    for (const auto& [name, literal] : op.attributes)
      ANEMONE_RETURN_IF_ERROR(add_literal(literal, out.operands.emplace_back(Operand{name, {}})));
    if (out.kind == Kind::kClassify) ANEMONE_RETURN_IF_ERROR(check_classify(op));
    if (out.kind == Kind::kReadState || out.kind == Kind::kWriteState) {
      const auto it = state_of_.find(op.input("input"));
      if (it == state_of_.end())
        return corrupt("[{} \"{}\"] expected a state as \"input\"", op.type, op.name);
      out.state = it->second;
    }
    for (const ir::Block* block : op.blocks)
      ANEMONE_RETURN_IF_ERROR(fill(*block, out.blocks.emplace_back()));
    ANEMONE_RETURN_IF_ERROR(check_blocks(out));
    for (const ir::Value* output : op.outputs) out.outputs.push_back(new_typed_register(*output));
    return {};
  }

  Status operand(std::string_view name, const ir::Arguments& arguments, PreparedOp& out) {
    Operand& operand = out.operands.emplace_back();
    operand.name = name;
    for (const ir::Argument& argument : arguments) {
      if (const auto* value = std::get_if<ir::Value*>(&argument)) {
        if (state_of_.contains(*value)) {
          if (out.kind != Kind::kReadState && out.kind != Kind::kWriteState)
            return corrupt("[{} \"{}\"] expected a tensor as \"{}\", got a state", out.op->type,
                           out.op->name, name);
          continue;
        }
        operand.registers.push_back(register_of(*value));
        continue;
      }
      ANEMONE_RETURN_IF_ERROR(add_literal(std::get<ir::Literal>(argument), operand));
    }
    return {};
  }

  // The register views the literal's text, so this is the one of the program and no copy.
  Status add_literal(const ir::Literal& literal, Operand& operand) {
    ANEMONE_ASSIGN_OR_RETURN(Register value, constants_.reg(literal));
    operand.registers.push_back(new_register(nullptr));
    fill_register(operand.registers.back(), std::move(value));
    return {};
  }

  // The label is the index into int64 classes, or a string that no caller can ask for.
  static Status check_classify(const ir::Op& op) {
    const ir::Value* probabilities = op.input("probabilities");
    if (probabilities == nullptr || op.outputs.size() != 2)
      return corrupt("[{} \"{}\"] expected probabilities and two outputs", op.type, op.name);
    return {};
  }

  // What the interpreter relies on when it moves values in and out of blocks.
  static Status check_blocks(const PreparedOp& out) {
    const ir::Op& op = *out.op;
    const auto wrong = [&](std::string_view what) {
      return corrupt("[{} \"{}\"] {}", op.type, op.name, what);
    };
    if (out.kind == Kind::kCond) {
      if (out.blocks.size() != 2) return wrong("expected two blocks");
      for (const PreparedBlock& block : out.blocks)
        if (!block.inputs.empty() || block.outputs.size() != op.outputs.size())
          return wrong("expected blocks with no inputs and one output for each output of it");
    } else if (out.kind == Kind::kWhile) {
      const Operand* variables = out.operand("loop_vars");
      if (out.blocks.size() != 2 || variables == nullptr) return wrong("expected two blocks");
      const std::size_t count = variables->registers.size();
      if (out.blocks[0].inputs.size() != count || out.blocks[1].inputs.size() != count ||
          out.blocks[0].outputs.size() != 1 || out.blocks[1].outputs.size() != count ||
          op.outputs.size() != count)
        return wrong("expected blocks with one input and output for each loop variable");
    } else if (!out.blocks.empty()) {
      return wrong("expected no blocks");
    }
    return {};
  }

  LoadedConstants& constants_;
  PreparedFunction out_;
  std::unordered_map<const ir::Value*, int> register_of_;
  std::unordered_map<const ir::Value*, int> state_of_;
};

}  // namespace

std::optional<ir::Type> output_type(const ir::Value& output) {
  const ir::Type& type = output.type;
  if (type.is_tensor() && type.dtype != DType::kString) return type;
  if (type.kind != ir::Type::Kind::kDictionary || output.producer == nullptr ||
      output.producer->type != "classify")
    return std::nullopt;
  const ir::Value* probabilities = output.producer->input("probabilities");
  return probabilities == nullptr ? std::nullopt : std::optional(probabilities->type);
}

Signature signature_of(const ir::Function& function) {
  Signature out;
  for (const ir::Value* input : function.inputs)
    (input->type.is_state() ? out.states : out.inputs)
        .push_back(feature_of(input->name, input->type));
  for (const ir::Value* output : function.block->outputs)
    if (const auto type = output_type(*output))
      out.outputs.push_back(feature_of(output->name, *type));
  return out;
}

Result<PreparedFunction> prepare(const ir::Function& function,
                                 std::shared_ptr<const Signature> signature,
                                 LoadedConstants& constants) {
  return FunctionBuilder(function, std::move(signature), constants).build();
}

}  // namespace anemone::exec
