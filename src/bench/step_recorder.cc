// SPDX-License-Identifier: Apache-2.0
#include "bench/step_recorder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/version.h"

namespace anemone::bench {
namespace {

using engine::StepPhase;

double microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

std::string json_text(std::string_view text) {
  return dump_json(Json(std::string(text)));
}

}  // namespace

void StepRecorder::begin(std::string_view name) {
  open(Category::kCommand, name);
}

double StepRecorder::end() {
  return close();
}

void StepRecorder::step_begins(bool is_prompt) {
  is_prompt_ = is_prompt;
  open(Category::kStep, is_prompt ? "prefill" : "decode");
}

void StepRecorder::step_ends(std::int64_t tokens) {
  close(tokens);
  Mode& mode = is_prompt_ ? prefill_ : decode_;
  ++mode.steps;
  mode.tokens += tokens;
}

void StepRecorder::phase_begins(StepPhase phase) {
  phase_ = phase;
  open(Category::kPhase, phase_name(phase));
}

void StepRecorder::phase_ends() {
  const double seconds = close();
  Mode& mode = is_prompt_ && phase_ != StepPhase::kSampling ? prefill_ : decode_;
  mode.phases[static_cast<std::size_t>(phase_)] += seconds;
}

exec::RunTimes* StepRecorder::run_begins(std::string_view package, std::string_view function) {
  open(Category::kFunction,
       max_spans_ == 0 ? std::string() : fmt::format("{} {}", package, function));
  times_.steps = nullptr;
  return &times_;
}

void StepRecorder::run_ends() {
  Clock::time_point at = open_.back().start;
  close();
  if (times_.steps == nullptr) return;
  const StepNames& names = names_of(times_.steps);
  for (std::size_t i = 0; i < names.kinds.size(); ++i) {
    const std::chrono::duration<double> seconds(times_.seconds[i]);
    const auto length = std::chrono::duration_cast<std::chrono::nanoseconds>(seconds);
    if (Kind* kind = names.kinds[i]; kind != nullptr) {
      (is_prompt_ ? kind->prefill_s : kind->decode_s) += seconds.count();
      if (max_spans_ > 0)
        add({.start = at,
             .length = length,
             .name = names.names[i],
             .operation = names.operations[i],
             .category = Category::kOperation});
    }
    at += length;
  }
}

void StepRecorder::open(Category category, std::string_view name) {
  const auto start = Clock::now();
  std::size_t span = kNone;
  if (max_spans_ > 0) span = add({.start = start, .name = name_of(name), .category = category});
  // Asked again, so that the clock does not count what this took.
  open_.push_back({Clock::now(), span});
}

double StepRecorder::close(std::int64_t tokens) {
  const auto end = Clock::now();
  const Open last = open_.back();
  open_.pop_back();
  if (last.span != kNone) {
    spans_[last.span].length = end - spans_[last.span].start;
    spans_[last.span].tokens = tokens;
  }
  return std::chrono::duration<double>(end - last.start).count();
}

std::size_t StepRecorder::add(Span span) {
  if (spans_.size() >= max_spans_) {
    ++dropped_;
    return kNone;
  }
  spans_.push_back(std::move(span));
  return spans_.size() - 1;
}

std::uint32_t StepRecorder::name_of(std::string_view name) {
  const auto [it, is_new] =
      numbers_.emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
  if (is_new) names_.emplace_back(name);
  return it->second;
}

const StepRecorder::StepNames& StepRecorder::names_of(
    const std::shared_ptr<const std::vector<exec::PlanStep>>& steps) {
  StepNames& out = step_names_[steps.get()];
  if (out.steps != nullptr) return out;
  out.steps = steps;
  for (const exec::PlanStep& step : *steps) {
    const std::string name = step.form.empty() ? step.name : step.name + " " + step.form;
    out.kinds.push_back(step.is_view ? nullptr : &kinds_[name]);
    if (max_spans_ == 0) continue;
    out.names.push_back(name_of(name));
    out.operations.push_back(name_of(step.operation));
  }
  return out;
}

std::string StepRecorder::event_of(const Span& span) const {
  static constexpr std::array kCategories = {"command", "step", "phase", "function", "operation"};
  std::string args;
  if (span.category == Category::kStep) args = fmt::format(R"("tokens":{})", span.tokens);
  if (span.category == Category::kOperation)
    args = fmt::format(R"("operation":{})", json_text(names_[span.operation]));
  return fmt::format(
      R"({{"ph":"X","pid":1,"tid":1,"cat":"{}","name":{},"ts":{:.3f},"dur":{:.3f},"args":{{{}}}}})",
      kCategories[static_cast<std::size_t>(span.category)], json_text(names_[span.name]),
      microseconds(span.start - spans_.front().start), microseconds(span.length), args);
}

Status StepRecorder::write_trace(const std::string& path) const {
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  ANEMONE_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  std::string text = fmt::format(
      R"({{"displayTimeUnit":"ms","otherData":{{"program":{},"dropped_spans":{}}},"traceEvents":[)"
      "\n"
      R"({{"ph":"M","pid":1,"tid":1,"name":"process_name","args":{{"name":"anemone run"}}}})",
      json_text("anemone " + std::string(version())), dropped_);
  for (const Span& span : spans_) {
    text += ",\n" + event_of(span);
    if (text.size() < kPiece) continue;
    ANEMONE_RETURN_IF_ERROR(file.append(std::string_view(text)));
    text.clear();
  }
  ANEMONE_RETURN_IF_ERROR(file.append(std::string_view(text + "\n]}\n")));
  return file.commit();
}

}  // namespace anemone::bench
