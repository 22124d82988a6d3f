// SPDX-License-Identifier: Apache-2.0
#include "cli/check_report.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "ane/step_times.h"
#include "base/escape.h"
#include "base/progress.h"
#include "cli/table.h"

namespace anemone::cli {
namespace {

using ane::CheckedPackage;
using ane::Device;
using ane::Finding;
using ane::Law;
using ane::Place;
using ane::PlacedFunction;
using ane::PlacedOperation;
using ane::Severity;

// Those that the last line counts.
constexpr Severity kCounted[] = {Severity::kRefused, Severity::kSlow, Severity::kContested};
constexpr std::size_t kMaxLines = 8;
constexpr std::size_t kMaxFunctions = 16;

std::string count_of(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string place_text(const CheckedPackage& package, const Place& place, bool names_package) {
  std::string text = names_package ? package.name : "";
  for (const std::string& part : {place.function, place.name})
    if (!part.empty()) text += (text.empty() ? "" : " ") + part;
  return text;
}

// What was measured with the probes, then what others reported.
std::string source_of(const Law& law, const ane::Measurements* measured) {
  const ane::MeasuredLaw* of_law = measured == nullptr ? nullptr : measured->of(law);
  if (of_law == nullptr) return ane::source_text(law);
  return fmt::format("{} with {}, measured: {}; {}", measured->model, measured->system,
                     of_law->what, ane::source_text(law));
}

std::string law_text(const Law& law, Severity severity, const std::vector<FoundLine>& lines,
                     const CheckReportOptions& options) {
  constexpr std::size_t kIndent = 2;
  std::string text = "\n" + paragraph(fmt::format("{} {}: {}", ane::severity_name(severity), law.id,
                                                  law.statement));
  std::vector<std::vector<std::string>> rows;
  for (const FoundLine& line : lines) {
    if (rows.size() == kMaxLines) break;
    rows.push_back(
        {count_of(line.count, ane::place_kind_name(line.kind)), escaped(line.found),
         line.first.empty() ? "" : (line.count == 1 ? "" : "first: ") + escaped(line.first)});
  }
  text += table(rows, "  ");
  if (lines.size() > kMaxLines)
    text += fmt::format("  and {} more (--json has all)\n", lines.size() - kMaxLines);
  text += paragraph(fmt::format("source: {}", escaped(source_of(law, options.measured))), kIndent) +
          paragraph(fmt::format("change: {}", law.remedy), kIndent);
  if (options.has_hints)
    for (const ane::Hint& hint : hints_for(law, options.writer()))
      text += paragraph("hint: " + ane::hint_text(hint), kIndent);
  return text;
}

// A finding of an operation names it by its index in the "placement" of the function, too, since
// several operations may have one name. Constants and what restores them have no index.
Json finding_json(const CheckedPackage& package, const Finding& finding) {
  const Place& place = finding.place;
  Json json = {{"law", finding.law->id},
               {"package", package.name},
               {"place", ane::place_kind_name(place.kind)},
               {"function", place.function},
               {"name", place.name},
               {"found", finding.found}};
  if (!place.operation) return json;
  const auto function = std::ranges::find(package.functions, place.function, &PlacedFunction::name);
  if (function == package.functions.end()) return json;
  const std::vector<PlacedOperation>& operations = function->operations;
  // They stand in the order of their indices.
  const auto placed =
      std::ranges::lower_bound(operations, *place.operation, {}, &PlacedOperation::index);
  if (placed != operations.end() && placed->index == *place.operation)
    json["operation"] = placed - operations.begin();
  return json;
}

std::string count_text(std::size_t part, std::size_t whole) {
  return part == whole ? fmt::format("all {}", whole) : fmt::format("{} of {}", part, whole);
}

std::string functions_table(const std::vector<CheckedPackage>& packages, const ane::Chip& chip) {
  std::vector<std::vector<std::string>> rows = {{"function", "on the chip", "products", "weights",
                                                 "GMAC", fmt::format("least time, {}", chip.name)}};
  std::size_t functions = 0;
  for (const CheckedPackage& package : packages)
    for (const PlacedFunction& function : package.functions) {
      if (++functions > kMaxFunctions) continue;
      const ane::Estimate estimate = ane::estimate(function, chip);
      // Products of open shapes have no number of multiplications.
      const bool is_counted = function.products() == 0 || function.multiplications() > 0;
      rows.push_back(
          {escaped((packages.size() > 1 ? package.name + " " : "") + function.name),
           count_text(function.count(Device::kNeuralEngine), function.operations.size()),
           function.products() == 0
               ? "none"
               : count_text(function.products_on(Device::kNeuralEngine), function.products()),
           format_bytes(function.weight_bytes),
           is_counted ? fmt::format("{:.3g}", static_cast<double>(function.multiplications()) / 1e9)
                      : "-",
           is_counted ? fmt::format("{:.3g} ms, by {}", estimate.seconds * 1e3,
                                    estimate.is_bound_by_bytes ? "bytes" : "products")
                      : "-"});
    }
  std::string text = table(rows, "  ");
  if (functions > kMaxFunctions)
    text += fmt::format("  and {} more (--json has all)\n", functions - kMaxFunctions);
  return text;
}

// A line per function of a step. Empty for packages that are not of one model.
std::string steps_table(const std::vector<ane::StepTime>& steps,
                        const CheckReportOptions& options) {
  if (steps.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const ane::StepTime& step : steps)
    rows.push_back({fmt::format("a step of {}", step.function), count_of(step.packages, "package"),
                    fmt::format("{:.3g} ms at least", step.seconds * 1e3),
                    fmt::format("{:.0f} tokens per second at most",
                                static_cast<double>(step.tokens) / step.seconds)});
  std::string text = "\n" + table(rows, "  ");
  if (options.manifest->form.has_expert_packs())
    text += "  without the packages of experts, of which a step runs the active ones\n";
  return text;
}

std::vector<ane::StepTime> steps_of(const std::vector<CheckedPackage>& packages,
                                    const CheckReportOptions& options) {
  if (options.manifest == nullptr) return {};
  return ane::step_times(*options.manifest, packages, *options.chip);
}

}  // namespace

Json law_json(const Law& law, Severity severity, const ane::Measurements* measured,
              const std::vector<ane::Hint>* hints) {
  Json json = {{"law", law.id},
               {"severity", ane::severity_name(severity)},
               {"statement", law.statement},
               {"source", source_of(law, measured)},
               {"change", law.remedy}};
  if (hints == nullptr) return json;
  json["hints"] = Json::array();
  for (const ane::Hint& hint : *hints)
    json["hints"].push_back({{"kind", ane::hint_name(hint.kind)}, {"text", hint.text}});
  return json;
}

Json function_json(const PlacedFunction& function, const ane::Chip& chip) {
  const ane::Estimate estimate = ane::estimate(function, chip);
  return {{"function", function.name},
          {"operations", function.operations.size()},
          {"operations_on_ane", function.count(Device::kNeuralEngine)},
          {"products", function.products()},
          {"products_on_ane", function.products_on(Device::kNeuralEngine)},
          {"multiplications", function.multiplications()},
          {"multiplications_on_ane", function.multiplications_on(Device::kNeuralEngine)},
          {"transitions", function.transitions()},
          {"weight_bytes", function.weight_bytes},
          {"interface_bytes", function.interface_bytes},
          {"state_bytes", function.state_bytes},
          {"estimated_ms", estimate.seconds * 1e3},
          {"bound", estimate.is_bound_by_bytes ? "bytes" : "multiplications"}};
}

Json steps_json(const std::vector<CheckedPackage>& packages, const CheckReportOptions& options) {
  Json json = Json::array();
  for (const ane::StepTime& step : steps_of(packages, options))
    json.push_back({{"function", step.function},
                    {"tokens", step.tokens},
                    {"packages", step.packages},
                    {"estimated_ms", step.seconds * 1e3}});
  return json;
}

Json operation_json(const PlacedOperation& operation) {
  return {{"name", operation.name},
          {"type", operation.type},
          {"device", ane::device_name(operation.device)},
          {"law", operation.law == nullptr ? "" : operation.law->id}};
}

std::vector<FoundLine> found_lines(const Law& law, const std::vector<CheckedPackage>& packages) {
  std::vector<FoundLine> lines;
  std::map<std::pair<Place::Kind, std::string_view>, std::size_t> places;  // in `lines`
  for (const CheckedPackage& package : packages)
    for (const Finding& finding : package.findings) {
      if (finding.law != &law) continue;
      const auto [it, is_new] =
          places.try_emplace({finding.place.kind, finding.found}, lines.size());
      if (is_new)
        lines.push_back({finding.found, finding.place.kind, 0,
                         place_text(package, finding.place, packages.size() > 1)});
      ++lines[it->second].count;
    }
  return lines;
}

std::vector<BrokenLaw> broken_laws(const std::vector<CheckedPackage>& packages) {
  std::map<const Law*, Severity> severities;
  for (const CheckedPackage& package : packages)
    for (const Finding& finding : package.findings)
      if (const auto [it, is_new] = severities.emplace(finding.law, finding.severity); !is_new)
        it->second = std::min(it->second, finding.severity);
  std::vector<BrokenLaw> out;
  for (const Law* law : ane::laws())
    if (const auto it = severities.find(law); it != severities.end())
      out.push_back({it->second, law});
  std::ranges::stable_sort(out, {}, &BrokenLaw::severity);
  return out;
}

std::vector<std::string> broken_laws(const std::vector<CheckedPackage>& packages,
                                     Severity severity) {
  std::vector<std::string> ids;
  for (const auto& [of_law, law] : broken_laws(packages))
    if (of_law == severity) ids.emplace_back(law->id);
  return ids;
}

std::size_t products_off_chip(const std::vector<CheckedPackage>& packages) {
  std::size_t count = 0;
  for (const CheckedPackage& package : packages)
    for (const PlacedFunction& function : package.functions)
      count += function.products() - function.products_on(Device::kNeuralEngine);
  return count;
}

Report check_report(const std::string& path, const std::vector<CheckedPackage>& packages,
                    const CheckReportOptions& options) {
  Report report;
  report.json = {
      {"file", path},          {"chip", options.chip->id},  {"packages", Json::array()},
      {"laws", Json::array()}, {"findings", Json::array()}, {"functions", Json::array()}};
  std::size_t functions = 0;
  for (const CheckedPackage& package : packages) {
    functions += package.functions.size();
    report.json["packages"].push_back(
        {{"name", package.name}, {"weight_bytes", package.weight_bytes}});
    for (const Finding& finding : package.findings)
      report.json["findings"].push_back(finding_json(package, finding));
    for (const PlacedFunction& function : package.functions) {
      Json json = function_json(function, *options.chip);
      json["package"] = package.name;
      if (options.has_operations) {
        json["placement"] = Json::array();
        for (const PlacedOperation& operation : function.operations)
          json["placement"].push_back(operation_json(operation));
      }
      report.json["functions"].push_back(std::move(json));
    }
  }
  const auto checked =
      std::ranges::count_if(ane::laws(), [](const Law* law) { return law->find != nullptr; });
  report.text =
      fmt::format("{}: {}, {}, checked against {} laws of the chip\n\n", escaped(path),
                  count_of(packages.size(), "package"), count_of(functions, "function"), checked) +
      functions_table(packages, *options.chip) + steps_table(steps_of(packages, options), options);
  report.json["steps"] = steps_json(packages, options);
  for (const auto& [severity, law] : broken_laws(packages)) {
    if (severity != Severity::kNote || options.has_notes)
      report.text += law_text(*law, severity, found_lines(*law, packages), options);
    const std::vector<ane::Hint> hints = hints_for(*law, options.writer());
    report.json["laws"].push_back(
        law_json(*law, severity, options.measured, options.has_hints ? &hints : nullptr));
  }
  const auto notes = broken_laws(packages, Severity::kNote);
  if (!notes.empty() && !options.has_notes)
    report.text +=
        "\n" + paragraph(fmt::format("{}: {} (--notes explains them)",
                                     count_of(notes.size(), "note"), fmt::join(notes, ", ")));
  report.json["notes"] = notes.size();
  std::string totals;
  for (const Severity severity : kCounted) {
    const std::size_t count = broken_laws(packages, severity).size();
    totals +=
        fmt::format("{}{} {}", totals.empty() ? "" : ", ", count, ane::severity_name(severity));
    report.json[std::string(ane::severity_name(severity))] = count;
  }
  report.text += "\n" + totals + "\n";
  return report;
}

}  // namespace anemone::cli
