// SPDX-License-Identifier: Apache-2.0
#include "api/residency.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <utility>

#include "artifact/manifest.h"
#include "base/error.h"
#include "base/machine.h"
#include "base/path.h"
#include "base/version.h"
#include "exec/coreml/coreml_executor.h"
#include "mlpackage/compiled_reader.h"
#include "mlpackage/package_reader.h"

namespace anemone::api {
namespace {

namespace coreml = exec::coreml;
using coreml::Verdict;

// Those that a line of an error has room for.
constexpr std::size_t kMaxNamed = 2;

template <typename Count>
std::size_t sum_of(const std::vector<FunctionResidency>& functions, const Count& count) {
  std::size_t sum = 0;
  for (const FunctionResidency& each : functions) sum += count(each.residency);
  return sum;
}

// A package of a model and the functions of it that are asked for.
struct LoadedPackage {
  std::string name;
  const exec::LoadedProgram* program = nullptr;
  bool has_equal_functions = false;  // of experts, one of which stands for all
};

std::vector<LoadedPackage> packages_of(const engine::Model& model) {
  std::vector<LoadedPackage> out;
  const artifact::Manifest& manifest = model.manifest();
  for (std::size_t i = 0; i < manifest.shards.size(); ++i) {
    const artifact::Shard& shard = manifest.shards[i];
    out.push_back({shard.package, &model.shard(i)});
    if (!shard.experts) continue;
    for (std::size_t k = 0; k < shard.experts->packs.size(); ++k)
      out.push_back({shard.experts->packs[k].package, model.expert_packs(i)[k].get(), true});
  }
  for (std::size_t i = 0; i < model.head_packages().size(); ++i)
    out.push_back({model.head_packages()[i].front().package, &model.head_program(i)});
  if (manifest.embed && model.embed_program() != nullptr)
    out.push_back({manifest.embed->package, model.embed_program()});
  return out;
}

// The operation with its place and what may be the cause.
std::string text_of(const FunctionResidency& function, const coreml::PlacedOperation& operation) {
  std::string cause = "no law explains it";
  if (!operation.reason.empty())
    cause = "law " + operation.reason;
  else if (!operation.is_supported)
    cause = "Core ML does not list the chip for it";
  return fmt::format("{} {} {} {} ({}; {})", function.package, function.function, operation.type,
                     operation.name, coreml::device_name(operation.planned), cause);
}

// The functions of a package that Core ML does not load, with what it says.
Result<std::vector<coreml::PlannedFunction>> refused_package(const std::string& path,
                                                             const std::string& name,
                                                             const Status& status) {
  ANEMONE_ASSIGN_OR_RETURN(const mlpackage::Model content, mlpackage::read_package(path));
  std::vector<coreml::PlannedFunction> out;
  for (const ir::Function* function : content.program.functions())
    out.push_back({name, function->name, status.message(), {}});
  return out;
}

}  // namespace

Verdict ModelResidency::verdict() const {
  const std::size_t all = operations();
  if (all == 0) return Verdict::kUnknown;
  if (on_chip() == 0) return Verdict::kElsewhere;
  const bool is_resident = std::ranges::all_of(functions, [](const FunctionResidency& each) {
    return each.residency.verdict == Verdict::kResident;
  });
  return is_resident ? Verdict::kResident : Verdict::kPartly;
}

std::size_t ModelResidency::operations() const {
  return sum_of(functions, [](const coreml::Residency& each) { return each.operations.size(); });
}
std::size_t ModelResidency::on_chip() const {
  return sum_of(functions, [](const coreml::Residency& each) { return each.on_chip; });
}
std::size_t ModelResidency::products() const {
  return sum_of(functions, [](const coreml::Residency& each) { return each.products; });
}
std::size_t ModelResidency::products_on_chip() const {
  return products() - sum_of(functions, [](const coreml::Residency& each) {
           return each.products_elsewhere.size();
         });
}

exec::Placement ModelResidency::totals() const {
  return {std::string(coreml::verdict_name(verdict())), operations(), on_chip(), products(),
          products_on_chip()};
}

std::string ModelResidency::summary() const {
  return fmt::format(
      "{}: {} of {} operations and {} of {} products on the Neural Engine, in {} functions",
      coreml::verdict_name(verdict()), on_chip(), operations(), products_on_chip(), products(),
      functions.size());
}

Status ModelResidency::check_products(const std::string& subject) const {
  if (products() == 0 && operations() == 0)
    return check_not_met(
        "[{}] expected products on the Neural Engine, but Core ML tells of no operation where it "
        "would run",
        subject);
  std::string named;
  std::size_t elsewhere = 0;
  for (const FunctionResidency& function : functions)
    for (const coreml::PlacedOperation& operation : function.residency.products_elsewhere)
      if (++elsewhere <= kMaxNamed)
        named += (named.empty() ? "" : ", ") + text_of(function, operation);
  if (elsewhere == 0) return {};
  return check_not_met(
      "[{}] expected all {} products on the Neural Engine, got {} elsewhere: {}{}; check --measure "
      "FILE --executor coreml lists all",
      subject, products(), elsewhere, named, elsewhere > kMaxNamed ? ", ..." : "");
}

std::vector<coreml::PredictedOperation> predictions_of(const ane::PlacedFunction& function) {
  std::vector<coreml::PredictedOperation> out;
  out.reserve(function.operations.size());
  for (const ane::PlacedOperation& each : function.operations)
    out.push_back({.name = each.name,
                   .type = each.type,
                   .device = each.device == ane::Device::kNeuralEngine
                                 ? coreml::Device::kNeuralEngine
                                 : coreml::Device::kCpu,
                   .reason = each.law == nullptr ? "" : std::string(each.law->id)});
  return out;
}

Result<ModelResidency> residency_of(const engine::Model& model) {
  ModelResidency out;
  for (const LoadedPackage& package : packages_of(model)) {
    const std::string path = model.path() + "/" + package.name;
    ANEMONE_ASSIGN_OR_RETURN(const mlpackage::Model content, mlpackage::read_package(path));
    const ane::CheckedPackage checked = ane::check_package(package.name, content, 0);
    for (const std::string& function : package.program->functions()) {
      ANEMONE_ASSIGN_OR_RETURN(const coreml::ComputePlan plan,
                               coreml::compute_plan(*package.program, function));
      const auto placed =
          std::ranges::find(checked.functions, function, &ane::PlacedFunction::name);
      const auto predictions = placed == checked.functions.end()
                                   ? std::vector<coreml::PredictedOperation>()
                                   : predictions_of(*placed);
      out.functions.push_back({package.name, function, coreml::join(plan, predictions)});
      if (package.has_equal_functions) break;
    }
  }
  return out;
}

Result<coreml::PlanFile> plan_packages(exec::Executor& executor, std::span<const std::string> paths,
                                       std::span<const std::string> names) {
  const auto* own = dynamic_cast<const coreml::CoreMlExecutor*>(&executor);
  if (own == nullptr)
    return unsupported("[--executor] expected coreml, whose plan is asked for, got {}",
                       executor.name());
  const coreml::MachineInfo machine = own->machine();
  coreml::PlanFile out;
  out.anemone = version();
  out.system = fmt::format("{} ({})", describe_machine().system, machine.os_build);
  out.model = machine.hardware;
  for (const std::string& path : paths)
    if (mlpackage::is_compiled_folder(path))
      return unsupported(
          "[{}] expected a package that Core ML compiles, got what it compiled already", path);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string name(last_name(names[i]));
    const auto loaded = executor.load(paths[i], {.functions = {}, .when_first_run = true});
    if (!loaded.ok()) {
      if (loaded.status().code() == Code::kCancelled) return loaded.status();
      ANEMONE_ASSIGN_OR_RETURN(auto refused, refused_package(paths[i], name, loaded.status()));
      std::ranges::move(refused, std::back_inserter(out.functions));
      continue;
    }
    const exec::LoadedProgram& program = **loaded;
    for (const std::string& function : program.functions()) {
      auto plan = coreml::compute_plan(program, function);
      coreml::PlannedFunction& each = out.functions.emplace_back();
      each.package = name;
      each.function = function;
      if (plan.ok())
        each.operations = *std::move(plan);
      else
        each.error = plan.status().message();
    }
  }
  return out;
}

}  // namespace anemone::api
