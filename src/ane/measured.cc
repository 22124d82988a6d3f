// SPDX-License-Identifier: Apache-2.0
#include "ane/measured.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace anemone::ane {
namespace {

// Rounding in fp16 alone leaves more; the wrong numbers that others reported have 0.37 and 0.03.
constexpr double kLeastCosine = 0.99;
// What is slower by less may be noise.
constexpr double kSlower = 1.15;
// A share of operations on the chip that is lower by more than this is no accident of a cast.
constexpr double kLessOnChip = 0.05;

struct Comparison {
  std::string_view law;
  std::string_view breaks;  // ids of probes
  std::string_view keeps;
};
constexpr Comparison kComparisons[] = {
    {"block-scales", "quant-int4-block", "quant-int8-channel"},
    {"block-scales", "quant-int8-block", "quant-int8-channel"},
    {"wide-output", "head-64k", "head-64k-split"},
    {"many-states", "states-2l", "states-1"},
    {"narrow-axis", "layout-height", "layout-width"},
    {"dma-notch", "notch-whole", "notch-split"},
    {"many-functions", "functions-4", "functions-1"},
    {"depthwise-conv", "taps-depthwise", "taps-sum"},
    {"softplus", "softplus-operation", "softplus-arithmetic"},
    {"range-shapes", "range-flexible", "range-fixed"},
    {"slice-update", "cache-slice", "cache-readonly"},
};

// The results of one probe: functions by name.
struct FunctionResult {
  std::string error;
  std::int64_t on_chip = 0;
  std::int64_t operations = 0;
  double median_ms = 0;
  double cosine = 0;
};
using ProbeResult = std::map<std::string, FunctionResult>;

Result<std::string> text_of(const Json& object, const char* name, const std::string& subject) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_string())
    return parse_error("[{}] expected a text \"{}\" in each result", subject, name);
  return it->get<std::string>();
}

double number_of(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it == object.end() || !it->is_number() ? 0 : it->get<double>();
}

FunctionResult read_function(const Json& json) {
  FunctionResult out;
  if (const auto it = json.find("error"); it != json.end() && it->is_string())
    out.error = it->get<std::string>();
  if (const auto it = json.find("placement"); it != json.end() && it->is_object()) {
    // Counts of a file that nobody vouches for: a double holds any number.
    const double ane = number_of(*it, "ane");
    double all = 0;
    for (const char* device : {"ane", "gpu", "cpu"}) all += number_of(*it, device);
    if (ane >= 0 && all >= ane && all < 1e15) {
      out.on_chip = static_cast<std::int64_t>(ane);
      out.operations = static_cast<std::int64_t>(all);
    }
  }
  out.median_ms = number_of(json, "median_ms");
  out.cosine = number_of(json, "cosine");
  return out;
}

double share(const FunctionResult& result) {
  return result.operations == 0
             ? 0
             : static_cast<double>(result.on_chip) / static_cast<double>(result.operations);
}

std::string placed_text(const FunctionResult& result) {
  return fmt::format("{} of {}", result.on_chip, result.operations);
}

// What one function that breaks the law shows against the same one that keeps it; nullopt where the
// second one does not run itself.
std::optional<MeasuredLaw> judge(const FunctionResult& breaks, const FunctionResult& keeps,
                                 const Comparison& comparison) {
  MeasuredLaw out;
  out.law = find_law(comparison.law);
  if (!keeps.error.empty() || keeps.cosine < kLeastCosine) return std::nullopt;
  const auto holds = [&](Severity severity, std::string what) {
    out.holds = true;
    out.severity = severity;
    out.what = std::move(what);
    return out;
  };
  if (!breaks.error.empty())
    return holds(Severity::kRefused, fmt::format("{} fails ({}), {} runs", comparison.breaks,
                                                 breaks.error, comparison.keeps));
  if (breaks.cosine < kLeastCosine)
    return holds(Severity::kRefused,
                 fmt::format("{} has a cosine of {:.3f}, {} of {:.3f}", comparison.breaks,
                             breaks.cosine, comparison.keeps, keeps.cosine));
  if (share(breaks) < share(keeps) - kLessOnChip)
    return holds(Severity::kSlow,
                 fmt::format("{} has {} operations on the chip, {} {}", comparison.breaks,
                             placed_text(breaks), comparison.keeps, placed_text(keeps)));
  if (breaks.median_ms > keeps.median_ms * kSlower && keeps.median_ms > 0)
    return holds(Severity::kSlow, fmt::format("{} takes {:.3g} ms, {} {:.3g} ms", comparison.breaks,
                                              breaks.median_ms, comparison.keeps, keeps.median_ms));
  out.what = fmt::format("{} runs as {} does", comparison.breaks, comparison.keeps);
  return out;
}

std::vector<MeasuredLaw> judge_all(const std::map<std::string, ProbeResult, std::less<>>& probes) {
  std::vector<MeasuredLaw> laws;
  for (const Comparison& comparison : kComparisons) {
    const auto breaks = probes.find(comparison.breaks);
    const auto keeps = probes.find(comparison.keeps);
    if (breaks == probes.end() || keeps == probes.end()) continue;
    for (const auto& [name, result] : breaks->second) {
      const auto other = keeps->second.find(name);
      if (other == keeps->second.end()) continue;
      const auto judged = judge(result, other->second, comparison);
      if (!judged) continue;
      // Several functions and pairs of probes can ask about one law: the worst result decides.
      const auto it = std::ranges::find(laws, judged->law, &MeasuredLaw::law);
      if (it == laws.end())
        laws.push_back(*judged);
      else if (judged->holds && (!it->holds || judged->severity < it->severity))
        *it = *judged;
    }
  }
  return laws;
}

}  // namespace

Result<Measurements> parse_measurements(const Json& json, const std::string& subject) {
  const auto results = json.is_object() ? json.find("results") : json.end();
  if (!json.is_object() || number_of(json, "format") != 1 || results == json.end() ||
      !results->is_array())
    return parse_error("[{}] expected results of a Mac of format 1, got another file", subject);
  Measurements out;
  ANEMONE_ASSIGN_OR_RETURN(out.system, text_of(json, "system", subject));
  ANEMONE_ASSIGN_OR_RETURN(out.model, text_of(json, "model", subject));
  std::map<std::string, ProbeResult, std::less<>> probes;
  for (const Json& result : *results) {
    if (!result.is_object())
      return parse_error("[{}] expected objects in \"results\", got another value", subject);
    if (json_member(result, "probe") == nullptr) continue;  // of a package that was checked
    ANEMONE_ASSIGN_OR_RETURN(const std::string probe, text_of(result, "probe", subject));
    ANEMONE_ASSIGN_OR_RETURN(const std::string function, text_of(result, "function", subject));
    probes[probe][function] = read_function(result);
  }
  out.laws = judge_all(probes);
  return out;
}

const MeasuredLaw* Measurements::of(const Law& law) const {
  const auto it = std::ranges::find(laws, &law, &MeasuredLaw::law);
  return it == laws.end() ? nullptr : &*it;
}

}  // namespace anemone::ane
