// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/plan_file.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/escape.h"
#include "base/json.h"
#include "exec/coreml/residency.h"

namespace anemone::exec::coreml {
namespace {

constexpr std::array kDevices = {Device::kNeuralEngine, Device::kGpu, Device::kCpu,
                                 Device::kUnknown};

// "layers_00_05" of "model/layers_00_05.mlpackage".
std::string_view stem_of(std::string_view package) {
  while (package.ends_with('/')) package.remove_suffix(1);
  for (const std::string_view ending : {".mlpackage", ".mlmodelc", ".mlmodel"})
    if (package.ends_with(ending)) return package.substr(0, package.size() - ending.size());
  return package;
}

Json operation_json(const PlannedOperation& operation) {
  Json supported = Json::array();
  for (const Device device : operation.supported) supported.push_back(device_name(device));
  return {{"name", operation.name},
          {"type", operation.type},
          {"device", device_name(operation.preferred)},
          {"supported", std::move(supported)},
          {"cost", operation.cost}};
}

Json function_json(const PlannedFunction& function) {
  Json out = {{"package", function.package}, {"function", function.function}};
  if (!function.error.empty()) {
    out["error"] = function.error;
    return out;
  }
  Json& placement = out["placement"] = Json::object();
  for (const Device device : kDevices)
    placement[std::string(device_name(device))] =
        std::ranges::count_if(function.operations, [&](const PlannedOperation& each) {
          return each.preferred == device && !is_constant(each.type);
        });
  Json& operations = out["operations"] = Json::array();
  for (const PlannedOperation& each : function.operations)
    operations.push_back(operation_json(each));
  return out;
}

Result<std::string> text_of(const Json& object, std::string_view key, const std::string& subject) {
  ANEMONE_ASSIGN_OR_RETURN(auto text, json_string(object, key, subject));
  if (!text) return parse_error("[{}] expected a text \"{}\", got none", subject, key);
  return *std::move(text);
}

Result<Device> device_of(const Json& value, const std::string& subject) {
  if (value.is_string())
    for (const Device device : kDevices)
      if (value.get_ref<const std::string&>() == device_name(device)) return device;
  return parse_error("[{}] expected one of ane, gpu, cpu and unknown as a device, got {}", subject,
                     shortened(dump_json(value), 60));
}

Result<PlannedOperation> operation_of(const Json& json, const std::string& subject) {
  PlannedOperation out;
  if (!json.is_object()) return parse_error("[{}] expected operations to be objects", subject);
  ANEMONE_ASSIGN_OR_RETURN(out.name, text_of(json, "name", subject));
  ANEMONE_ASSIGN_OR_RETURN(out.type, text_of(json, "type", subject));
  if (const Json* device = json_member(json, "device")) {
    ANEMONE_ASSIGN_OR_RETURN(out.preferred, device_of(*device, subject));
  }
  if (const Json* supported = json_member(json, "supported")) {
    if (!supported->is_array() || supported->size() > kDevices.size())
      return parse_error("[{}] expected a list of devices as \"supported\"", subject);
    for (const Json& each : *supported) {
      ANEMONE_ASSIGN_OR_RETURN(const Device device, device_of(each, subject));
      out.supported.push_back(device);
    }
  }
  ANEMONE_ASSIGN_OR_RETURN(const auto cost, json_number(json, "cost", subject));
  out.cost = cost.value_or(0);
  if (!(out.cost >= 0 && out.cost <= 1))
    return parse_error("[{}] expected a cost from 0 to 1 for operation {}, got {}", subject,
                       out.name, out.cost);
  return out;
}

// nullopt for a result that tells of no operation.
Result<std::optional<PlannedFunction>> function_of(const Json& json, const std::string& subject) {
  PlannedFunction out;
  if (!json.is_object()) return parse_error("[{}] expected objects in \"results\"", subject);
  const Json* operations = json_member(json, "operations");
  ANEMONE_ASSIGN_OR_RETURN(const auto error, json_string(json, "error", subject));
  // Results of probes have errors, too; those are not of a package that is checked.
  if (operations == nullptr && (!error || json_member(json, "probe") != nullptr))
    return std::optional<PlannedFunction>();
  ANEMONE_ASSIGN_OR_RETURN(out.package, text_of(json, "package", subject));
  ANEMONE_ASSIGN_OR_RETURN(out.function, text_of(json, "function", subject));
  out.error = error.value_or("");
  if (operations == nullptr) return std::optional(std::move(out));
  if (!operations->is_array())
    return parse_error("[{}] expected a list as \"operations\"", subject);
  out.operations.reserve(operations->size());
  for (const Json& each : *operations) {
    ANEMONE_ASSIGN_OR_RETURN(PlannedOperation operation, operation_of(each, subject));
    out.operations.push_back(std::move(operation));
  }
  return std::optional(std::move(out));
}

}  // namespace

std::string_view device_name(Device device) {
  switch (device) {
    case Device::kNeuralEngine:
      return "ane";
    case Device::kGpu:
      return "gpu";
    case Device::kCpu:
      return "cpu";
    case Device::kUnknown:
      break;
  }
  return "unknown";
}

const PlannedFunction* PlanFile::find(std::string_view package, std::string_view function) const {
  const std::string_view path = stem_of(package);
  for (const PlannedFunction& each : functions) {
    if (each.function != function) continue;
    const std::string_view planned = stem_of(each.package);
    if (path == planned || path.ends_with("/" + std::string(planned))) return &each;
  }
  return nullptr;
}

std::string plan_text(const PlanFile& file) {
  Json json = {{"format", 1},
               {"anemone", file.anemone},
               {"system", file.system},
               {"model", file.model},
               {"results", Json::array()}};
  for (const PlannedFunction& each : file.functions) json["results"].push_back(function_json(each));
  return dump_json(json, 1) + "\n";
}

Result<PlanFile> parse_plan_file(const Json& json, const std::string& subject) {
  const Json* results = json_member(json, "results");
  const Json* format = json_member(json, "format");
  if (results == nullptr || !results->is_array() || format == nullptr || *format != 1)
    return parse_error("[{}] expected results of a Mac of format 1, got another file", subject);
  PlanFile out;
  ANEMONE_ASSIGN_OR_RETURN(out.system, text_of(json, "system", subject));
  ANEMONE_ASSIGN_OR_RETURN(out.model, text_of(json, "model", subject));
  ANEMONE_ASSIGN_OR_RETURN(const auto anemone, json_string(json, "anemone", subject));
  out.anemone = anemone.value_or("");
  std::set<std::pair<std::string, std::string>> known;
  for (const Json& result : *results) {
    ANEMONE_ASSIGN_OR_RETURN(auto function, function_of(result, subject));
    if (function && known.emplace(function->package, function->function).second)
      out.functions.push_back(*std::move(function));
  }
  return out;
}

}  // namespace anemone::exec::coreml
