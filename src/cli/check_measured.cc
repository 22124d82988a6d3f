// SPDX-License-Identifier: Apache-2.0
#include "cli/check_measured.h"

#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "ane/law.h"
#include "base/error.h"
#include "base/escape.h"
#include "exec/coreml/residency.h"

namespace anemone::cli {
namespace {

namespace coreml = exec::coreml;

// The text lists so many operations at most; the JSON lists all.
constexpr std::size_t kMaxRows = 16;

// What a contradiction says of the law, or of the lack of one.
std::string meaning_of(const coreml::PlacedOperation& operation) {
  if (!operation.reason.empty())
    return fmt::format("law {} took it off the chip", operation.reason);
  return operation.is_supported ? "no law explains it; Core ML lists the chip as able to run it"
                                : "no law explains it; Core ML does not list the chip for it";
}

// A law speaks for itself; what none explains is sorted by type.
std::string kind_of(const coreml::PlacedOperation& operation) {
  return operation.reason.empty() ? escaped(operation.type) : "operations";
}

// Contradictions of one kind, at `count` places.
struct Contradiction {
  std::size_t count = 0;
  std::string first;
  const coreml::PlacedOperation* operation = nullptr;
};

std::vector<Contradiction> contradictions_of(const api::ModelResidency& planned) {
  std::vector<Contradiction> out;
  std::map<std::tuple<std::string, coreml::Device, std::string>, std::size_t> places;
  for (const api::FunctionResidency& function : planned.functions)
    for (const coreml::PlacedOperation& each : function.residency.operations) {
      if (!each.is_contradicted()) continue;
      const auto [it, is_new] =
          places.try_emplace({kind_of(each), each.planned, meaning_of(each)}, out.size());
      if (is_new)
        out.push_back(
            {0, fmt::format("{} {} {}", function.package, function.function, each.name), &each});
      ++out[it->second].count;
    }
  return out;
}

std::string residency_table(const MeasuredPlacement& measured) {
  std::vector<std::vector<std::string>> rows = {
      {"function", "verdict", "on the chip", "products", "changes of device", "as predicted"}};
  for (const api::FunctionResidency& each : measured.planned.functions) {
    if (rows.size() > kMaxRows) break;
    const coreml::Residency& residency = each.residency;
    const std::size_t all = residency.operations.size();
    rows.push_back(
        {escaped(each.package + " " + each.function),
         std::string(coreml::verdict_name(residency.verdict)),
         fmt::format("{} of {}", residency.on_chip, all),
         fmt::format("{} of {}", residency.products - residency.products_elsewhere.size(),
                     residency.products),
         fmt::format("{}", residency.transitions),
         residency.contradicted == 0 ? residency.unpredicted == 0
                                           ? "yes"
                                           : fmt::format("{} not predicted", residency.unpredicted)
                                     : fmt::format("{} not", residency.contradicted)});
  }
  std::string text = table(rows, "  ");
  if (measured.planned.functions.size() > kMaxRows)
    text += fmt::format("  and {} more (--json has all)\n",
                        measured.planned.functions.size() - kMaxRows);
  return text;
}

std::string contradictions_text(const api::ModelResidency& planned) {
  const std::vector<Contradiction> all = contradictions_of(planned);
  if (all.empty()) return "";
  std::string text = "\n  not as predicted\n";
  std::vector<std::vector<std::string>> rows;
  for (const Contradiction& each : all) {
    if (rows.size() == kMaxRows) break;
    rows.push_back(
        {fmt::format("{} {}", each.count, kind_of(*each.operation)),
         fmt::format("planned on {}, predicted on {}", coreml::device_name(each.operation->planned),
                     coreml::device_name(each.operation->predicted)),
         escaped(meaning_of(*each.operation)), "first: " + escaped(each.first)});
  }
  text += table(rows, "  ");
  if (all.size() > kMaxRows)
    text += fmt::format("  and {} more (--json has all)\n", all.size() - kMaxRows);
  return text;
}

Json operation_json(const coreml::PlacedOperation& operation) {
  return {{"name", operation.name},
          {"type", operation.type},
          {"planned", coreml::device_name(operation.planned)},
          {"predicted", coreml::device_name(operation.predicted)},
          {"chip_listed", operation.is_supported},
          {"cost", operation.cost},
          {"law", operation.reason}};
}

Json residency_json(const api::FunctionResidency& function) {
  const coreml::Residency& residency = function.residency;
  Json contradicted = Json::array();
  for (const coreml::PlacedOperation& each : residency.operations)
    if (each.is_contradicted()) contradicted.push_back(operation_json(each));
  Json elsewhere = Json::array();
  for (const coreml::PlacedOperation& each : residency.products_elsewhere)
    elsewhere.push_back(operation_json(each));
  return {{"package", function.package},
          {"function", function.function},
          {"verdict", coreml::verdict_name(residency.verdict)},
          {"operations", residency.operations.size()},
          {"operations_on_ane", residency.on_chip},
          {"products", residency.products},
          {"products_on_ane", residency.products - residency.products_elsewhere.size()},
          {"transitions", residency.transitions},
          {"cost_on_ane", residency.cost_on_chip},
          {"not_predicted", residency.unpredicted},
          {"not_planned", residency.unplanned},
          {"contradicted", std::move(contradicted)},
          {"products_elsewhere", std::move(elsewhere)}};
}

std::string laws_text(const ane::Measurements& measured) {
  std::string text = fmt::format("\nmeasured with the probes on {} with {}\n\n",
                                 escaped(measured.model), escaped(measured.system));
  std::vector<std::vector<std::string>> rows;
  for (const ane::MeasuredLaw& each : measured.laws)
    rows.push_back({std::string(each.law->id),
                    each.holds ? std::string(ane::severity_name(each.severity)) : "does not hold",
                    escaped(each.what)});
  return text + table(rows, "  ");
}

std::string placement_text(const MeasuredPlacement& placed) {
  std::string text =
      fmt::format("\nplanned by Core ML of {} with {}: {}\n\n", escaped(placed.model),
                  escaped(placed.system), placed.planned.summary());
  text += residency_table(placed) + contradictions_text(placed.planned);
  for (const MeasuredPlacement::Failed& each : placed.failed)
    text += fmt::format("  {} {}: {}\n", escaped(each.package), escaped(each.function),
                        escaped(each.error));
  if (!placed.missing.empty())
    text += fmt::format("  no plan in the file: {}\n",
                        escaped(fmt::format("{}", fmt::join(placed.missing, ", "))));
  return text;
}

}  // namespace

Status MeasuredPlacement::check_products(const std::string& subject) const {
  if (!failed.empty())
    return check_not_met(
        "[{}] expected a plan of Core ML for each function, got an error for {} {}: {}", subject,
        failed.front().package, failed.front().function, failed.front().error);
  if (!missing.empty())
    return check_not_met("[{}] expected a plan of Core ML for each function, got none for {}",
                         subject, fmt::join(missing, ", "));
  return planned.check_products(subject);
}

MeasuredPlacement measured_placement(const std::vector<ane::CheckedPackage>& packages,
                                     const std::vector<std::string>& paths,
                                     const coreml::PlanFile& plans) {
  MeasuredPlacement out;
  out.system = plans.system;
  out.model = plans.model;
  for (std::size_t i = 0; i < packages.size(); ++i) {
    const ane::CheckedPackage& package = packages[i];
    std::error_code ignored;
    const std::string path =
        std::filesystem::absolute(paths[i], ignored).lexically_normal().string();
    for (const ane::PlacedFunction& function : package.functions) {
      const coreml::PlannedFunction* plan = plans.find(path, function.name);
      if (plan == nullptr) {
        out.missing.push_back(package.name + " " + function.name);
      } else if (!plan->error.empty()) {
        out.failed.push_back({package.name, function.name, plan->error});
      } else {
        out.planned.functions.push_back(
            {package.name, function.name,
             coreml::join(plan->operations, api::predictions_of(function))});
      }
    }
  }
  return out;
}

void add_measured(const ane::Measurements* laws, const MeasuredPlacement* placed, Report& report) {
  const bool has_laws = laws != nullptr && !laws->laws.empty();
  if (!has_laws && placed == nullptr) return;
  Json& json =
      report.json["measured"] = {{"system", placed == nullptr ? laws->system : placed->system},
                                 {"model", placed == nullptr ? laws->model : placed->model},
                                 {"laws", Json::array()},
                                 {"functions", Json::array()},
                                 {"failed", Json::array()},
                                 {"missing", Json::array()}};
  std::string text;
  if (has_laws) {
    for (const ane::MeasuredLaw& each : laws->laws)
      json["laws"].push_back(
          {{"law", each.law->id},
           {"holds", each.holds},
           {"severity", each.holds ? ane::severity_name(each.severity) : std::string_view()},
           {"measured", each.what}});
    text += laws_text(*laws);
  }
  if (placed != nullptr) {
    for (const api::FunctionResidency& each : placed->planned.functions)
      json["functions"].push_back(residency_json(each));
    for (const MeasuredPlacement::Failed& each : placed->failed)
      json["failed"].push_back(
          {{"package", each.package}, {"function", each.function}, {"error", each.error}});
    json["missing"] = placed->missing;
    text += placement_text(*placed);
  }
  // The last line stays the last: it counts the broken laws.
  const std::size_t end = report.text.rfind("\n\n");
  report.text.insert(end == std::string::npos ? report.text.size() : end + 1, text);
}

}  // namespace anemone::cli
