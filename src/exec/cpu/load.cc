// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/cpu/lazy_program.h"
#include "exec/cpu/load.h"
#include "ir/verifier.h"
#include "kernels/kernel.h"
#include "ops/registry.h"

namespace anemone::exec {
namespace {

Feature feature_of(const std::string& name, const ir::Type& type) {
  Feature feature;
  feature.name = name;
  feature.dtype = type.dtype;
  feature.shape = type.shape.empty() ? Shape{1} : type.shape;
  return feature;
}

// Names every operation outside the op set before the verifier stumbles over the first.
Status check_operations(const ir::Block& block, const ir::OpRegistry& registry) {
  for (const ir::Op* op : block.ops) {
    if (!op->is_const() && registry.find(op->type) == nullptr)
      return unsupported("[{} \"{}\"] the operation {} is outside the operation set", op->type,
                         op->name, op->type);
    for (const ir::Block* inner : op->blocks)
      ANEMONE_RETURN_IF_ERROR(check_operations(*inner, registry));
  }
  return {};
}

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

Result<std::shared_ptr<const LoadedProgram>> load_with(std::shared_ptr<const ir::Program> program,
                                                       const ProgramInterface& interface,
                                                       const LoadOptions& options,
                                                       std::shared_ptr<SharedResources> shared) {
  // The verifier bounds the nesting of blocks, so it goes first.
  ANEMONE_RETURN_IF_ERROR(ir::verify(*program, ops::op_registry(), {.structure_only = true}));
  for (const ir::Function* function : program->functions())
    ANEMONE_RETURN_IF_ERROR(check_operations(*function->block, ops::op_registry()));
  ANEMONE_RETURN_IF_ERROR(ir::verify(*program, ops::op_registry()));

  std::string default_function = interface.default_function;
  if (default_function.empty())
    default_function =
        program->function("main") != nullptr ? "main" : program->functions()[0]->name;
  for (const std::string& name : options.functions)
    if (program->function(name) == nullptr)
      return not_found("[{}] expected a function of the package, got an unknown name", name);
  std::vector<const ir::Function*> functions;
  std::vector<Signature> signatures;
  for (const ir::Function* function : program->functions()) {
    const auto& wanted = options.functions;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), function->name) == wanted.end())
      continue;
    const auto it = interface.signatures.find(function->name);
    functions.push_back(function);
    signatures.push_back(it == interface.signatures.end() ? signature_of(*function) : it->second);
  }
  const bool has_default = std::any_of(functions.begin(), functions.end(), [&](const auto* each) {
    return each->name == default_function;
  });
  if (!has_default) default_function = functions.front()->name;

  ProgramSource source{std::move(program), interface.weight_files};
  if (options.when_first_run) {
    ANEMONE_ASSIGN_OR_RETURN(auto lazy,
                             LazyProgram::make(std::move(source), functions, std::move(signatures),
                                               std::move(default_function), std::move(shared)));
    return std::shared_ptr<const LoadedProgram>(std::move(lazy));
  }
  ANEMONE_ASSIGN_OR_RETURN(
      auto made, CpuProgram::prepare_and_make(std::move(source), functions, std::move(signatures),
                                              std::move(default_function), std::move(shared)));
  return std::shared_ptr<const LoadedProgram>(std::move(made));
}

Result<std::shared_ptr<const LoadedProgram>> load_program(
    std::shared_ptr<const ir::Program> program, const ProgramInterface& interface,
    const LoadOptions& load_options, const CpuOptions& options) {
  return load_with(std::move(program), interface, load_options,
                   std::make_shared<SharedResources>(options));
}

}  // namespace anemone::exec
