// SPDX-License-Identifier: Apache-2.0
// The report that cli/check_page.cc shows, as JSON.
#include "cli/check_html.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/version.h"
#include "cli/check_page.h"
#include "cli/check_report.h"

namespace anemone::cli {
namespace {

using ane::CheckedPackage;
using ane::Device;
using ane::PlacedFunction;
using ane::PlacedOperation;
using ane::Severity;

constexpr Severity kShown[] = {Severity::kRefused, Severity::kSlow, Severity::kContested,
                               Severity::kNote};

// The number after "layer_" or "layers_" in the name of an operation, as our compiler and
// coremltools write them; -1 for other names.
std::int64_t layer_of(std::string_view name) {
  const std::size_t word = name.find("layer");
  if (word == std::string_view::npos) return -1;
  const std::size_t digits = name.find_first_of("0123456789", word);
  if (digits == std::string_view::npos || digits > word + 7) return -1;
  std::int64_t layer = -1;
  std::from_chars(name.data() + digits, name.data() + name.size(), layer);
  return layer;
}

Json operations_json(const PlacedFunction& function) {
  Json json = Json::array();
  for (const PlacedOperation& operation : function.operations) {
    Json each = operation_json(operation);
    each["layer"] = layer_of(operation.name);
    each["multiplications"] = operation.multiplications;
    each["bytes"] = operation.weight_bytes;
    json.push_back(std::move(each));
  }
  return json;
}

Json totals_json(const std::vector<CheckedPackage>& packages) {
  std::size_t operations = 0;
  std::size_t on_chip = 0;
  std::size_t products = 0;
  std::size_t products_on_chip = 0;
  double multiplications = 0;
  double multiplications_on_chip = 0;
  std::uint64_t weight_bytes = 0;
  std::uint64_t state_bytes = 0;
  for (const CheckedPackage& package : packages) {
    weight_bytes += package.weight_bytes;
    // Functions of a package share their states.
    std::uint64_t states = 0;
    for (const PlacedFunction& function : package.functions) {
      operations += function.operations.size();
      on_chip += function.count(Device::kNeuralEngine);
      products += function.products();
      products_on_chip += function.products_on(Device::kNeuralEngine);
      multiplications += static_cast<double>(function.multiplications());
      multiplications_on_chip +=
          static_cast<double>(function.multiplications_on(Device::kNeuralEngine));
      states = std::max(states, function.state_bytes);
    }
    state_bytes += states;
  }
  return {{"operations", operations},
          {"ane", on_chip},
          {"cpu", operations - on_chip},
          {"products", products},
          {"products_ane", products_on_chip},
          {"multiplications", multiplications},
          {"multiplications_ane_share",
           multiplications == 0 ? 1.0 : multiplications_on_chip / multiplications},
          {"weight_bytes", weight_bytes},
          {"state_bytes", state_bytes}};
}

// A law as law_json() gives it, with where it is broken.
Json with_places(Json json, const std::vector<FoundLine>& lines) {
  // The page shows a few kinds of findings per law; --json has all.
  constexpr std::size_t kMaxExamples = 20;
  json["examples"] = Json::array();
  std::size_t places = 0;
  for (const FoundLine& line : lines) {
    places += line.count;
    if (json["examples"].size() < kMaxExamples)
      json["examples"].push_back({{"found", line.found},
                                  {"kind", ane::place_kind_name(line.kind)},
                                  {"count", line.count},
                                  {"first", line.first}});
  }
  json["places"] = places;
  return json;
}

// JSON that may stand in a script element: no "</script>" and no comment can begin in it.
std::string for_script(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string check_html(const std::string& path, const std::vector<CheckedPackage>& packages,
                       const CheckReportOptions& options, bool is_chip_named,
                       const Json& measured) {
  const ane::Chip& chip = *options.chip;
  Json json = {{"anemone", version()},
               {"file", path},
               {"chip", {{"id", chip.id}, {"name", chip.name}, {"named", is_chip_named}}},
               {"totals", totals_json(packages)},
               {"steps", steps_json(packages, options)},
               {"measured", measured},
               {"severities", Json::object()},
               {"laws", Json::array()},
               {"packages", Json::array()}};
  for (const Severity severity : kShown)
    json["severities"][std::string(ane::severity_name(severity))] =
        broken_laws(packages, severity).size();
  for (const auto& [severity, law] : broken_laws(packages)) {
    const std::vector<ane::Hint> hints = hints_for(*law, options.writer());
    json["laws"].push_back(with_places(
        law_json(*law, severity, options.measured, options.has_hints ? &hints : nullptr),
        found_lines(*law, packages)));
  }
  for (const CheckedPackage& package : packages) {
    Json entry = {{"name", package.name},
                  {"weight_bytes", package.weight_bytes},
                  {"functions", Json::array()}};
    for (const PlacedFunction& function : package.functions) {
      Json each = function_json(function, chip);
      each["operations"] = operations_json(function);
      entry["functions"].push_back(std::move(each));
    }
    json["packages"].push_back(std::move(entry));
  }
  std::string page(kCheckPageHead);
  page += for_script(json);
  for (const std::string_view part :
       {kCheckPageStart, kCheckPageGraph, kCheckPageMeasured, kCheckPageEnd})
    page += part;
  return page;
}

}  // namespace anemone::cli
