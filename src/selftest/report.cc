// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/escape.h"
#include "base/version.h"
#include "selftest/selftest.h"

namespace anemone::selftest {
namespace {

// JSON has no infinity.
Json number(double value) {
  return value <= 1e300 ? Json(value) : Json("infinite");
}

std::string placement_text(const BuildResult& result) {
  if (!result.placement)
    return result.placement_failure.empty() ? "not told" : "unknown: " + result.placement_failure;
  const exec::Placement& placement = *result.placement;
  return fmt::format("{}: {} of {} operations, {} of {} products", placement.verdict,
                     placement.on_chip, placement.operations, placement.products_on_chip,
                     placement.products);
}

std::string first_text(const FirstDifference& first) {
  std::string out = fmt::format("      first at {} {} (operation {} of {}): ", first.type,
                                escaped(first.operation), first.index + 1, first.count);
  if (!first.failure.empty()) return out + "cut after it, " + escaped(first.failure) + "\n";
  return out + fmt::format("error {:.3g} after it, {:.3g} at the last cut before it that agrees\n",
                           first.error, first.error_before);
}

std::string failed_text(const BuildResult& result) {
  std::string out;
  for (const FunctionResult& each : result.functions) {
    if (each.passed()) continue;
    out += fmt::format(
        "    {} {}: {}\n", escaped(each.package), escaped(each.function),
        each.failure.empty() ? fmt::format("error {:.3g}", each.error) : escaped(each.failure));
    if (each.first)
      out += first_text(*each.first);
    else
      out += "      agrees once values inside the function are outputs, so no operation is named\n";
  }
  if (!result.failure.empty()) out += "    the whole model: " + escaped(result.failure) + "\n";
  if (out.empty())
    out = "    every function agrees by itself: caches or steps of the whole model differ\n";
  return out;
}

Json function_json(const FunctionResult& result) {
  Json out = {{"package", result.package},
              {"function", result.function},
              {"passed", result.passed()},
              {"relative_error", number(result.error)}};
  if (!result.failure.empty()) out["error"] = result.failure;
  if (!result.first) return out;
  const FirstDifference& first = *result.first;
  out["first_difference"] = {{"operation", first.operation},
                             {"type", first.type},
                             {"index", first.index},
                             {"operations", first.count},
                             {"relative_error_before", number(first.error_before)},
                             {"relative_error", number(first.error)}};
  if (!first.failure.empty()) out["first_difference"]["error"] = first.failure;
  return out;
}

Json build_json(const BuildResult& result) {
  const probe::Sizes sizes = sizes_of(result.build);
  Json out = {
      {"form", result.build.form},    {"quant", result.build.quant},
      {"layers", sizes.layers},       {"hidden", sizes.hidden},
      {"passed", result.passed()},    {"logits_relative_error", number(result.logits_error)},
      {"decode_ms", result.decode_ms}};
  if (!result.failure.empty()) out["error"] = result.failure;
  if (result.placement) out["placement"] = exec::placement_json(*result.placement);
  if (!result.placement_failure.empty()) out["placement_error"] = result.placement_failure;
  out["functions"] = Json::array();
  for (const FunctionResult& each : result.functions)
    out["functions"].push_back(function_json(each));
  return out;
}

}  // namespace

std::string report_text(const Results& results) {
  std::string out = fmt::format("executor {} against {}, relative errors up to {} pass\n\n",
                                results.executor, results.reference, kTolerance);
  for (const BuildResult& each : results.builds) {
    out += fmt::format("  {:<6} {:<13} {:<5} {:<6} logits {:.2g}  {:.3g} ms per token  {}\n",
                       each.passed() ? "passed" : "FAILED", each.build.form, each.build.quant,
                       each.build.is_large ? "large" : "small", each.logits_error, each.decode_ms,
                       escaped(placement_text(each)));
    if (!each.passed()) out += failed_text(each);
  }
  return out;
}

Json report_json(const Results& results) {
  Json out = {{"format", 1},
              {"anemone", version()},
              {"executor", results.executor},
              {"reference", results.reference},
              {"seed", results.seed},
              {"tolerance", kTolerance},
              {"passed", results.passed()},
              {"builds", Json::array()}};
  for (const BuildResult& each : results.builds) out["builds"].push_back(build_json(each));
  return out;
}

}  // namespace anemone::selftest
