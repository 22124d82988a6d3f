// SPDX-License-Identifier: Apache-2.0
#include "cli/run_meter.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/escape.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "engine/session/session.h"

namespace anemone::cli {

RunMeter::RunMeter(bool shows_profile, std::string trace, bool warms_up)
    : shows_profile_(shows_profile), trace_(std::move(trace)), warms_up_(warms_up) {
  if (shows_profile_ || !trace_.empty())
    recorder_.emplace(trace_.empty() ? 0 : bench::StepRecorder::kMaxSpans);
}

void RunMeter::begin(std::string_view name) {
  if (recorder_) recorder_->begin(name);
}

double RunMeter::end() {
  return recorder_ ? recorder_->end() : 0;
}

Status RunMeter::warm_up(const std::shared_ptr<const engine::Model>& model,
                         std::span<const std::int32_t> prompt) {
  if (!warms_up_ || !model->check_prompt(prompt, /*wants_logits=*/false).ok()) return {};
  begin("warmup");
  const auto run = [&]() -> Status {
    ANEMONE_ASSIGN_OR_RETURN(const auto session, engine::Session::create(model));
    const auto first = prompt.first(static_cast<std::size_t>(
        std::min<std::int64_t>(std::ssize(prompt), engine::StepItem::kMaxTokens)));
    engine::PrefillOptions options;
    options.cancel = &interrupt_flag();
    ANEMONE_RETURN_IF_ERROR(session->prefill(first, options));
    if (session->position() == model->context()) return {};
    return session->decode(prompt.back()).status();
  };
  const Status status = run();
  const double seconds = end();
  if (recorder_) profile_.warmup_s = seconds;
  return status;
}

Status RunMeter::finish(const engine::Timing& timing, Json* out) {
  if (!recorder_) return {};
  profile_.timing = timing;
  profile_.steps = &*recorder_;
  if (shows_profile_ && out != nullptr)
    (*out)["profile"] = profile_.json();
  else if (shows_profile_)
    print_err("{}", escaped_lines("\n" + profile_.text()));
  if (trace_.empty()) return {};
  if (const std::size_t dropped = recorder_->dropped_spans(); dropped > 0)
    print_err("anemone: the trace has its first {} spans; {} more found no room\n",
              bench::StepRecorder::kMaxSpans, dropped);
  return recorder_->write_trace(trace_);
}

}  // namespace anemone::cli
