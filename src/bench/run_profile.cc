// SPDX-License-Identifier: Apache-2.0
#include "bench/run_profile.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "bench/plan_report.h"

namespace anemone::bench {
namespace {

using engine::StepPhase;

// One of the two parts of making an answer.
struct Part {
  std::int64_t tokens = 0;
  double seconds = 0;
  double tok_s = 0;
  const StepRecorder::Mode* mode = nullptr;

  double phase(StepPhase phase) const { return mode->phases[static_cast<std::size_t>(phase)]; }
  // What is in no phase: between the steps, and around the phases.
  double other() const {
    const double known = std::accumulate(mode->phases.begin(), mode->phases.end(), 0.0);
    return std::max(0.0, seconds - known);
  }
};

Part prefill_of(const RunProfile& profile) {
  const engine::Timing& timing = profile.timing;
  return {timing.prompt_tokens - timing.reused_tokens, timing.prefill_s, timing.prefill_tok_s(),
          &profile.steps->prefill()};
}

// The first token comes from the prompt.
Part decode_of(const RunProfile& profile) {
  const engine::Timing& timing = profile.timing;
  return {timing.decode_steps + timing.accepted_tokens, timing.decode_s, timing.decode_tok_s(),
          &profile.steps->decode()};
}

std::string per_token(double seconds, std::int64_t tokens) {
  return tokens > 0 && seconds > 0
             ? fmt::format("{:.4f}", 1e3 * seconds / static_cast<double>(tokens))
             : std::string("-");
}

using Rows = std::vector<std::vector<std::string>>;

std::string parts_text(const RunProfile& profile, const Part& prefill, const Part& decode) {
  Rows rows = {{"profile", "tokens", "seconds", "tok/s"}};
  const auto add = [&](const char* name, double seconds) {
    rows.push_back({name, "", fmt::format("{:.4f}", seconds), ""});
  };
  add("load", profile.load_s);
  add("tokenize", profile.tokenize_s);
  if (profile.warmup_s) add("warmup", *profile.warmup_s);
  for (const auto& [name, part] : {std::pair("prefill", prefill), std::pair("decode", decode)})
    rows.push_back({name, std::to_string(part.tokens), fmt::format("{:.4f}", part.seconds),
                    part.tok_s > 0 ? fmt::format("{:.1f}", part.tok_s) : "-"});
  return aligned(rows, "", 1);
}

std::string phases_text(const Part& prefill, const Part& decode) {
  Rows rows = {{"ms per token", "prefill", "decode"}};
  const auto add = [&](std::string_view name, double in_prefill, double in_decode) {
    rows.push_back({std::string(name), per_token(in_prefill, prefill.tokens),
                    per_token(in_decode, decode.tokens)});
  };
  for (const StepPhase phase : engine::kStepPhases)
    if (phase != StepPhase::kProposals || decode.phase(phase) > 0)
      add(phase_name(phase), prefill.phase(phase), decode.phase(phase));
  add("other", prefill.other(), decode.other());
  return aligned(rows, "", 1);
}

// The most expensive ones first.
std::vector<std::pair<std::string, StepRecorder::Kind>> sorted_kinds(const StepRecorder& steps) {
  std::vector<std::pair<std::string, StepRecorder::Kind>> out(steps.kinds().begin(),
                                                              steps.kinds().end());
  std::erase_if(out, [](const auto& item) { return item.second.seconds() <= 0; });
  std::ranges::stable_sort(out, std::ranges::greater(),
                           [](const auto& item) { return item.second.seconds(); });
  return out;
}

double all_seconds(const StepRecorder& steps) {
  double out = 0;
  for (const auto& [name, kind] : steps.kinds()) out += kind.seconds();
  return out;
}

std::string operations_text(const StepRecorder& steps, std::size_t most) {
  auto kinds = sorted_kinds(steps);
  if (kinds.empty()) return "this executor does not tell what its operations take\n";
  const double all = all_seconds(steps);
  kinds.resize(std::min(kinds.size(), most));
  Rows rows = {{"operation", "prefill ms", "decode ms", "share"}};
  for (const auto& [name, kind] : kinds)
    rows.push_back({name, fmt::format("{:.3f}", 1e3 * kind.prefill_s),
                    fmt::format("{:.3f}", 1e3 * kind.decode_s),
                    fmt::format("{:.1f} %", 100 * kind.seconds() / all)});
  return aligned(rows, "", 1);
}

Json part_json(const Part& part) {
  Json phases = Json::object();
  for (const StepPhase phase : engine::kStepPhases)
    phases[std::string(phase_name(phase))] = part.phase(phase);
  phases["other"] = part.other();
  return {{"tokens", part.tokens},
          {"seconds", part.seconds},
          {"tok_s", part.tok_s},
          {"phases", std::move(phases)}};
}

}  // namespace

std::string RunProfile::text(std::size_t most) const {
  const Part prefill = prefill_of(*this);
  const Part decode = decode_of(*this);
  return parts_text(*this, prefill, decode) + "\n" + phases_text(prefill, decode) + "\n" +
         operations_text(*steps, most);
}

Json RunProfile::json() const {
  const double all = all_seconds(*steps);
  Json operations = Json::array();
  for (const auto& [name, kind] : sorted_kinds(*steps))
    operations.push_back({{"kind", name},
                          {"prefill_s", kind.prefill_s},
                          {"decode_s", kind.decode_s},
                          {"share", kind.seconds() / all}});
  Json out = {{"load_s", load_s},
              {"tokenize_s", tokenize_s},
              {"prefill", part_json(prefill_of(*this))},
              {"decode", part_json(decode_of(*this))},
              {"operations", std::move(operations)}};
  if (warmup_s) out["warmup_s"] = *warmup_s;
  return out;
}

}  // namespace anemone::bench
