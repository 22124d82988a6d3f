// SPDX-License-Identifier: Apache-2.0
// From a package, or a program in memory, to a program that runs.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/name_index.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/cpu/cpu_program.h"
#include "exec/cpu/prepare.h"
#include "ir/verifier.h"
#include "mlpackage/compiled_reader.h"
#include "ops/registry.h"

namespace anemone::exec {
namespace {

std::optional<double> default_of(const mlpackage::FeatureDescription& feature) {
  if (!feature.is_optional) return std::nullopt;
  return std::visit(
      [](const auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
          return 0.0;
        else
          return static_cast<double>(value);
      },
      feature.default_value);
}

// An image is described by [height, width]; the program takes [1, channels, height, width].
Shape tensor_shape(const mlpackage::FeatureDescription& feature, const Shape& shape) {
  if (feature.kind != mlpackage::FeatureDescription::Kind::kImage || shape.size() != 2)
    return shape;
  return {1, mlpackage::image_channels(feature.color_space), shape[0], shape[1]};
}

void add_flexibility(const mlpackage::FeatureDescription& described, Feature& out) {
  out.shape = tensor_shape(described, described.shape);
  for (const Shape& shape : described.flexibility.enumerated) {
    out.allowed_shapes.push_back(tensor_shape(described, shape));
    const Shape& allowed = out.allowed_shapes.back();
    for (std::size_t i = 0; i < std::min(allowed.size(), out.shape.size()); ++i)
      if (allowed[i] != out.shape[i]) out.shape[i] = kDynamic;
  }
  const auto& ranges = described.flexibility.ranges;
  if (ranges.empty()) return;
  const std::size_t fixed = out.shape.size() - std::min(out.shape.size(), ranges.size());
  for (std::size_t i = 0; i < out.shape.size(); ++i) {
    SizeRange& range = out.size_ranges.emplace_back();
    if (i < fixed) {
      range = {out.shape[i], out.shape[i]};
      continue;
    }
    range = {ranges[i - fixed].lower, ranges[i - fixed].upper};
    out.shape[i] = range.lower == range.upper ? range.lower : kDynamic;
  }
}

// The order and the limits are the description's, the element types are the program's.
Signature described_signature(const mlpackage::FunctionInterface& described,
                              const ir::Function& function) {
  const Signature typed = signature_of(function);
  const NameIndex inputs(typed.inputs);
  const NameIndex outputs(typed.outputs);
  Signature out;
  for (const mlpackage::FeatureDescription& feature : described.inputs) {
    const Feature* known = inputs.find(feature.name);
    if (known == nullptr) continue;
    Feature input = *known;
    add_flexibility(feature, input);
    input.is_optional = feature.is_optional;
    input.default_value = default_of(feature);
    if (feature.is_optional) input.default_shape = tensor_shape(feature, feature.shape);
    out.inputs.push_back(std::move(input));
  }
  // A string (the label of a classifier) has no tensor form and is left out.
  for (const mlpackage::FeatureDescription& feature : described.outputs)
    if (const Feature* known = outputs.find(feature.name)) out.outputs.push_back(*known);
  out.states = typed.states;
  return out;
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

// load_program() with threads and a memory limit that other programs share.
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

  ANEMONE_ASSIGN_OR_RETURN(auto loaded,
                           CpuProgram::make({std::move(program), interface.weight_files}, functions,
                                            std::move(signatures), std::move(default_function),
                                            options.when_first_run, std::move(shared)));
  return std::shared_ptr<const LoadedProgram>(std::move(loaded));
}

class CpuExecutor : public Executor {
 public:
  explicit CpuExecutor(const CpuOptions& options)
      : maps_weights_(options.maps_weights), shared_(std::make_shared<SharedResources>(options)) {}

  std::string_view name() const override { return "cpu"; }

  Result<std::shared_ptr<const LoadedProgram>> load(const std::string& package_path,
                                                    const LoadOptions& options) override {
    ANEMONE_ASSIGN_OR_RETURN(mlpackage::Model read,
                             mlpackage::read_model(package_path, {.maps_weights = maps_weights_}));
    const auto model = std::make_shared<const mlpackage::Model>(std::move(read));
    ProgramInterface interface;
    interface.default_function = model->default_function;
    interface.weight_files = model->weight_files;
    const NameIndex functions(model->program.functions());
    for (const mlpackage::FunctionInterface& described : model->functions)
      if (const auto* function = functions.find(described.name))
        interface.signatures.emplace(described.name, described_signature(described, **function));
    const std::shared_ptr<const ir::Program> program(model, &model->program);
    return load_with(program, interface, options, shared_).with(package_path);
  }

 private:
  const bool maps_weights_;
  std::shared_ptr<SharedResources> shared_;
};

}  // namespace

Result<std::shared_ptr<const LoadedProgram>> load_program(
    std::shared_ptr<const ir::Program> program, const ProgramInterface& interface,
    const LoadOptions& load_options, const CpuOptions& options) {
  return load_with(std::move(program), interface, load_options,
                   std::make_shared<SharedResources>(options));
}

std::unique_ptr<Executor> make_cpu_executor(const CpuOptions& options) {
  return std::make_unique<CpuExecutor>(options);
}

}  // namespace anemone::exec
