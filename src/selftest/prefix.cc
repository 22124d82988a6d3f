// SPDX-License-Identifier: Apache-2.0
#include "selftest/prefix.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "ane/program_walk.h"
#include "base/error.h"

namespace anemone::selftest {
namespace {

using ane::is_computed;
using Values = std::set<const ir::Value*>;

// What an operation reads, that of the blocks inside it included.
void collect_reads(const ir::Op& op, Values& reads) {
  for (const auto& [parameter, arguments] : op.inputs)
    for (const ir::Argument& argument : arguments)
      if (const auto* value = std::get_if<ir::Value*>(&argument)) reads.insert(*value);
  for (const ir::Block* block : op.blocks) {
    for (const ir::Op* inner : block->ops) collect_reads(*inner, reads);
    reads.insert(block->outputs.begin(), block->outputs.end());
  }
}

bool can_be_given(const ir::Value& value) {
  const ir::Type& type = value.type;
  const bool has_dtype =
      type.dtype == DType::kFp16 || type.dtype == DType::kFp32 || type.dtype == DType::kInt32;
  return type.is_tensor() && has_dtype && !type.shape.empty() &&
         std::ranges::find(type.shape, kDynamic) == type.shape.end();
}

// The operations without constants that nothing reads; constants may be made of others. `reads`
// gets all that these operations read.
std::vector<const ir::Op*> with_read_constants(std::span<ir::Op* const> ops, Values& reads) {
  std::vector<const ir::Op*> kept;
  for (std::size_t i = ops.size(); i-- > 0;) {
    const bool is_read = std::ranges::any_of(
        ops[i]->outputs, [&](const ir::Value* value) { return reads.contains(value); });
    if (!is_computed(*ops[i]) && !is_read) continue;
    collect_reads(*ops[i], reads);
    kept.push_back(ops[i]);
  }
  std::ranges::reverse(kept);
  return kept;
}

// Copies operations into another program.
class Copy {
 public:
  explicit Copy(ir::Program& program) : program_(program) {}

  ir::Value* value(const ir::Value& from) {
    const auto [it, is_new] = values_.try_emplace(&from, nullptr);
    if (is_new) it->second = program_.add_value(from.name, from.type);
    return it->second;
  }

  ir::Op* op(const ir::Op& from) {
    ir::Op* out = program_.add_op();
    out->type = from.type;
    out->name = from.name;
    out->attributes = from.attributes;
    for (const auto& [parameter, arguments] : from.inputs) {
      ir::Arguments& copied = out->inputs[parameter];
      for (const ir::Argument& argument : arguments) {
        const auto* read = std::get_if<ir::Value*>(&argument);
        copied.push_back(read == nullptr ? argument : ir::Argument(value(**read)));
      }
    }
    for (const ir::Value* each : from.outputs) {
      out->outputs.push_back(value(*each));
      out->outputs.back()->producer = out;
    }
    for (const ir::Block* each : from.blocks) out->blocks.push_back(block(*each));
    return out;
  }

 private:
  ir::Block* block(const ir::Block& from) {
    ir::Block* out = program_.add_block();
    for (const ir::Value* each : from.inputs) out->inputs.push_back(value(*each));
    for (const ir::Op* each : from.ops) out->ops.push_back(op(*each));
    for (const ir::Value* each : from.outputs) out->outputs.push_back(value(*each));
    return out;
  }

  ir::Program& program_;
  std::map<const ir::Value*, ir::Value*> values_;
};

}  // namespace

std::vector<OperationName> operations_of(const ir::Function& function) {
  std::vector<OperationName> out;
  for (const ir::Op* op : function.block->ops)
    if (is_computed(*op))
      out.push_back({op->outputs.empty() ? op->name : op->outputs[0]->name, op->type});
  return out;
}

Result<mlpackage::Model> cut_after(const mlpackage::Model& model, const std::string& name,
                                   std::size_t index) {
  const ir::Function* function = model.program.function(name);
  if (function == nullptr) return not_found("[{}] expected a function of the package", name);
  const std::span<ir::Op* const> all(function->block->ops);
  std::size_t end = 0;  // of the operations that stay
  for (std::size_t left = index + 1; end < all.size() && left > 0; ++end)
    if (is_computed(*all[end])) --left;
  const std::span<ir::Op* const> ops = all.first(end);

  Values later(function->block->outputs.begin(), function->block->outputs.end());
  for (const ir::Op* op : all.subspan(end)) collect_reads(*op, later);
  Values reads;
  const std::vector<const ir::Op*> kept = with_read_constants(ops, reads);

  mlpackage::Model out;
  out.weight_files = model.weight_files;
  out.program.attributes = model.program.attributes;
  ir::Function* cut = out.program.add_function("main", function->opset);
  cut->block = out.program.add_block();
  Copy copy(out.program);
  for (const ir::Value* input : function->inputs)
    if (reads.contains(input)) cut->inputs.push_back(copy.value(*input));
  for (const ir::Op* op : kept) cut->block->ops.push_back(copy.op(*op));
  for (const ir::Op* op : ops)
    if (is_computed(*op))
      for (const ir::Value* value : op->outputs)
        if ((op == ops.back() || later.contains(value)) && can_be_given(*value))
          cut->block->outputs.push_back(copy.value(*value));
  if (cut->block->outputs.empty())
    return unsupported("[{}] no value after operation {} can be an output", name, index);
  ANEMONE_ASSIGN_OR_RETURN(auto interface, mlpackage::describe_function(*cut));
  interface.name = "main";
  out.functions.push_back(std::move(interface));
  return out;
}

}  // namespace anemone::selftest
