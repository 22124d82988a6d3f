// SPDX-License-Identifier: Apache-2.0
#include "mlpackage/writer_checks.h"

#include "base/error.h"
#include "ir/verifier.h"
#include "mlpackage/interface_check.h"

namespace anemone::mlpackage {
namespace {

class NoOperations : public ir::OpRegistry {
 public:
  const ir::OpSchema* find(std::string_view /*type*/) const override { return nullptr; }
  std::vector<std::string_view> names() const override { return {}; }
};

// coremltools fills in what is left out; Apple's parser on the device does not.
Status check_defaults(const ir::Op& op, ir::Opset opset, const ir::OpRegistry& registry) {
  const ir::OpSchema* schema = registry.find(op.type);
  if (schema == nullptr) return {};
  for (const ir::Parameter& parameter : schema->parameters) {
    const bool is_missing = parameter.presence == ir::Parameter::Presence::kDefaulted &&
                            parameter.since <= opset && !op.inputs.contains(parameter.name) &&
                            !op.attributes.contains(parameter.name);
    if (is_missing)
      return corrupt("expected the parameter \"{}\" to be spelled out, got none ({} \"{}\")",
                     parameter.name, op.type, op.name);
  }
  return {};
}

Status check_block(const ir::Block& block, ir::Opset opset, const ir::OpRegistry& registry) {
  for (const ir::Op* op : block.ops) {
    ANEMONE_RETURN_IF_ERROR(check_defaults(*op, opset, registry));
    for (const ir::Block* inner : op->blocks)
      ANEMONE_RETURN_IF_ERROR(check_block(*inner, opset, registry));
  }
  return {};
}

Status check_name(std::string_view name) {
  if (ir::sanitize_identifier(name) == name) return {};
  return corrupt("expected a name that MIL text can hold (\"{}\"), got \"{}\"",
                 ir::sanitize_identifier(name), name);
}

Status check_names(const FunctionInterface& function) {
  ANEMONE_RETURN_IF_ERROR(check_name(function.name));
  for (const auto* features : {&function.inputs, &function.outputs, &function.states})
    for (const FeatureDescription& feature : *features)
      ANEMONE_RETURN_IF_ERROR(check_name(feature.name));
  return {};
}

}  // namespace

Status check_before_writing(const Model& model, int specification_version,
                            const ir::OpRegistry* registry) {
  if (const int least = minimum_specification_version(model); specification_version < least)
    return corrupt("expected specification version {} for what the model uses, got {}", least,
                   specification_version);
  if (specification_version > 10)
    return corrupt("expected specification version 6 to 10, got {}", specification_version);
  for (const auto& [name, literal] : model.program.attributes)
    if (name != "buildInfo")
      return corrupt("expected no program attribute but buildInfo, got \"{}\"", name);
  for (const FunctionInterface& function : model.functions)
    ANEMONE_RETURN_IF_ERROR(check_names(function));
  // The verifier first: the other checks rely on its structure.
  static const NoOperations no_operations;
  const Status verified = ir::verify(model.program, registry ? *registry : no_operations,
                                     {.structure_only = registry == nullptr});
  // Its subject is the operation, that of a writer's error the package.
  if (!verified.ok())
    return Status(verified.code(), "expected a lawful program: " + verified.message());
  ANEMONE_RETURN_IF_ERROR(check_interface(model, specification_version));
  if (registry == nullptr) return {};
  for (const ir::Function* function : model.program.functions())
    ANEMONE_RETURN_IF_ERROR(check_block(*function->block, function->opset, *registry)
                                .with("function " + function->name));
  return {};
}

}  // namespace anemone::mlpackage
