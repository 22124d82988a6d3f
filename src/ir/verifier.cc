// SPDX-License-Identifier: Apache-2.0
#include "ir/verifier.h"

#include <unordered_map>
#include <unordered_set>

#include "base/check.h"

namespace anemone::ir {
namespace {

// Constants larger than this are never looked into by a type rule: parameters are small.
constexpr std::uint64_t kMaxValueBytes = 1 << 20;
constexpr std::size_t kMaxRank = 5;

bool is_constexpr(std::string_view type) {
  return type.starts_with("constexpr_");
}

class Verifier {
 public:
  Verifier(const OpRegistry& registry, const VerifyOptions& options)
      : registry_(registry), options_(options) {}

  Status program(const Program& program) {
    if (program.version != 1) return corrupt("expected program version 1, got {}", program.version);
    if (program.functions().empty()) return corrupt("the program has no function");
    std::unordered_set<std::string_view> names;
    for (const Function* function : program.functions()) {
      if (!names.insert(function->name).second)
        return corrupt("two functions are named {}", function->name);
      ANEMONE_RETURN_IF_ERROR(this->function(*function).with("function " + function->name));
    }
    return {};
  }

 private:
  Status function(const Function& function) {
    defined_.clear();
    order_.clear();
    rank_debt_.clear();
    opset_ = function.opset;
    if (!is_identifier(function.name)) return corrupt("\"{}\" is no identifier", function.name);
    for (const Value* input : function.inputs) {
      if (!input->type.is_tensor() && !input->type.is_state())
        return corrupt("input {} is {}, expected a tensor or a state", input->name,
                       to_string(input->type));
      if (input->type.is_state() && opset_ < Opset::kIOS18)
        return corrupt("state {} needs ios18, the function is {}", input->name,
                       opset_target(opset_));
      if (input->type.is_state() && !is_static(input->type.shape))
        return corrupt("state {} has an unknown dimension", input->name);
      ANEMONE_RETURN_IF_ERROR(define(*input));
    }
    ANEMONE_RETURN_IF_ERROR(block(*function.block, 0));
    for (const auto& [value, user] : rank_debt_)
      return corrupt("{} has rank {}, expected at most {}", value->name, value->type.shape.size(),
                     kMaxRank);
    return {};
  }

  Status block(const Block& block, int depth) {
    if (depth > kMaxBlockDepth) return corrupt("blocks nest deeper than {}", kMaxBlockDepth);
    for (const Value* input : block.inputs) ANEMONE_RETURN_IF_ERROR(define(*input));
    for (const Op* op : block.ops)
      if (Status status = this->op(*op, depth); !status.ok())
        return Status(status.code(),
                      fmt::format("[{} \"{}\"] {}", op->type, op->name, status.message()));
    if (block.outputs.empty()) return corrupt("a block has no output");
    for (const Value* output : block.outputs)
      if (!is_defined(output)) return corrupt("output {} is not defined", output->name);
    return {};
  }

  Status op(const Op& op, int depth) {
    for (const auto& [parameter, arguments] : op.inputs) {
      if (arguments.empty()) return corrupt("parameter \"{}\" has no argument", parameter);
      for (const Argument& argument : arguments) {
        if (const auto* value = std::get_if<Value*>(&argument)) {
          if (!is_defined(*value))
            return corrupt("operand {} is not defined before its use", (*value)->name);
          // A constant of high rank is fine as long as only constexpr operations look at it.
          if (is_constexpr(op.type)) rank_debt_.erase(*value);
        } else if (!is_constexpr(op.type) && !is_list_in_place(op.type, parameter) &&
                   std::get<Literal>(argument).type().kind != Type::Kind::kList) {
          // coremltools writes the classes of a classifier in place: a list.
          return corrupt("parameter \"{}\" is bound to a literal, expected a name", parameter);
        }
      }
    }
    if (!op.is_const() && !is_constexpr(op.type) && !op.attributes.empty())
      return corrupt("has an attribute \"{}\" that the operation does not take",
                     op.attributes.begin()->first);
    if (op.is_const()) ANEMONE_RETURN_IF_ERROR(constant(op));
    // Blocks see what was defined before them; what they define stays inside.
    for (const Block* inner : op.blocks) {
      const std::size_t outer = order_.size();
      ANEMONE_RETURN_IF_ERROR(block(*inner, depth + 1));
      for (; order_.size() > outer; order_.pop_back()) defined_.erase(order_.back());
    }
    if (!options_.structure_only && !op.is_const()) ANEMONE_RETURN_IF_ERROR(types(op));
    for (const Value* output : op.outputs) {
      ANEMONE_RETURN_IF_ERROR(define(*output));
      if (output->type.is_tensor() && output->type.shape.size() > kMaxRank) {
        if (!op.is_const() && !is_constexpr(op.type))
          return corrupt("output {} has rank {}, expected at most {}", output->name,
                         output->type.shape.size(), kMaxRank);
        rank_debt_.emplace(output, &op);
      }
    }
    return {};
  }

  // coremltools writes the constants of reshape_like in place, several to a parameter.
  bool is_list_in_place(std::string_view type, std::string_view name) const {
    const OpSchema* schema = registry_.find(type);
    const Parameter* parameter = schema == nullptr ? nullptr : schema->parameter(name);
    return parameter != nullptr && parameter->is_const && parameter->is_variadic;
  }

  static Status constant(const Op& op) {
    if (!op.inputs.empty()) return corrupt("a const has no inputs (const_c1)");
    if (op.attributes.size() != 1 || !op.attributes.contains("val"))
      return corrupt("a const has the one attribute \"val\" (const_c2)");
    if (op.outputs.size() != 1) return corrupt("a const has one output (const_c3)");
    if (!is_compatible(op.outputs[0]->type, op.attributes.begin()->second.type()))
      return corrupt("its value is {}, its output is declared {} (const_c4)",
                     to_string(op.attributes.begin()->second.type()),
                     to_string(op.outputs[0]->type));
    return {};
  }

  Status types(const Op& op) {
    const OpSchema* schema = registry_.find(op.type);
    if (schema == nullptr) return unsupported("the operation is not in the operation set");
    std::vector<std::string_view> bound;
    for (const auto& [parameter, arguments] : op.inputs) bound.push_back(parameter);
    if (is_constexpr(op.type))
      for (const auto& [parameter, literal] : op.attributes) bound.push_back(parameter);
    std::vector<Type> inferred;
    const ProgramInferContext context(op, opset_);
    ANEMONE_RETURN_IF_ERROR(infer_types(*schema, context, bound, inferred));
    if (inferred.size() != op.outputs.size())
      return corrupt("expected {} outputs, got {}", inferred.size(), op.outputs.size());
    for (std::size_t i = 0; i < inferred.size(); ++i)
      if (!is_compatible(op.outputs[i]->type, inferred[i]))
        return corrupt("output {} is declared {}, expected {}", op.outputs[i]->name,
                       to_string(op.outputs[i]->type), to_string(inferred[i]));
    return {};
  }

  Status define(const Value& value) {
    if (!is_identifier(value.name)) return corrupt("\"{}\" is no identifier", value.name);
    if (!defined_.emplace(value.name, &value).second)
      return corrupt("the name {} is defined twice", value.name);
    order_.push_back(value.name);
    return {};
  }

  bool is_defined(const Value* value) const {
    const auto it = defined_.find(value->name);
    return it != defined_.end() && it->second == value;
  }

  const OpRegistry& registry_;
  const VerifyOptions& options_;
  Opset opset_ = Opset::kIOS15;
  std::unordered_map<std::string_view, const Value*> defined_;
  std::vector<std::string_view> order_;  // in which they were defined
  // Constants of rank > 5 that no constexpr operation has used yet.
  std::unordered_map<const Value*, const Op*> rank_debt_;
};

}  // namespace

const Literal* ProgramInferContext::literal(std::string_view parameter, std::size_t i) const {
  if (const auto it = op_.inputs.find(parameter); it != op_.inputs.end())
    return constant_of(it->second[i]);
  const auto it = op_.attributes.find(parameter);
  return it == op_.attributes.end() ? nullptr : &it->second;
}

std::size_t ProgramInferContext::count(std::string_view parameter) const {
  if (const auto it = op_.inputs.find(parameter); it != op_.inputs.end()) return it->second.size();
  return op_.attributes.contains(parameter) ? 1 : 0;
}

const Type& ProgramInferContext::type(std::string_view parameter, std::size_t i) const {
  if (const auto it = op_.inputs.find(parameter); it != op_.inputs.end()) {
    ANEMONE_CHECK(i < it->second.size());
    if (const auto* value = std::get_if<Value*>(&it->second[i])) return (*value)->type;
    return std::get<Literal>(it->second[i]).type();
  }
  const auto it = op_.attributes.find(parameter);
  ANEMONE_CHECK(it != op_.attributes.end());
  return it->second.type();
}

std::optional<TensorView> ProgramInferContext::value(std::string_view parameter,
                                                     std::size_t i) const {
  const Literal* constant = literal(parameter, i);
  if (constant == nullptr || constant->data() == nullptr || !constant->data()->is_resident() ||
      constant->data()->size_bytes() > kMaxValueBytes)
    return std::nullopt;
  auto loaded = constant->data()->load();
  if (!loaded.ok()) return std::nullopt;
  kept_.push_back(*loaded);
  return TensorView{constant->type().dtype, constant->type().shape, kept_.back().bytes.data()};
}

bool ProgramInferContext::is_constant(std::string_view parameter, std::size_t i) const {
  if (literal(parameter, i) != nullptr) return true;
  const auto it = op_.inputs.find(parameter);
  if (it == op_.inputs.end()) return false;
  const Value* value = std::get<Value*>(it->second[i]);
  return value->producer != nullptr && is_constexpr(value->producer->type);
}

std::optional<std::string_view> ProgramInferContext::text(std::string_view parameter) const {
  if (!has(parameter)) return std::nullopt;
  const Literal* constant = literal(parameter, 0);
  return constant == nullptr ? std::nullopt : constant->as_text();
}

Status verify(const Program& program, const OpRegistry& registry, const VerifyOptions& options) {
  return Verifier(registry, options).program(program);
}

}  // namespace anemone::ir
