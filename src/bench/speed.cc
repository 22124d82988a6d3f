// SPDX-License-Identifier: Apache-2.0
#include "bench/speed.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace anemone::bench {
namespace {

using SpeedClock = std::chrono::steady_clock;

bool is_finite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

}  // namespace

Speed speed_of(std::vector<double> tok_s) {
  ANEMONE_CHECK(!tok_s.empty());
  std::ranges::sort(tok_s);
  const std::size_t half = tok_s.size() / 2;
  Speed out;
  out.tok_s = tok_s.size() % 2 == 1 ? tok_s[half] : (tok_s[half - 1] + tok_s[half]) / 2;
  if (tok_s.size() < 2) return out;
  const auto count = static_cast<double>(tok_s.size());
  double mean = 0;
  for (const double value : tok_s) mean += value / count;
  double squares = 0;
  for (const double value : tok_s) squares += (value - mean) * (value - mean);
  out.stddev = std::sqrt(squares / (count - 1));
  return out;
}

bool SpeedTest::fits(std::int64_t tokens, std::int64_t depth) const {
  return tokens <= model_->context() && depth <= model_->context() - tokens;
}

void SpeedTest::step_done() const {
  if (on_step) on_step();
}

Status SpeedTest::check_cancel() const {
  if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed))
    return cancelled("[bench] interrupted");
  return {};
}

engine::PrefillOptions SpeedTest::prefill_options() const {
  engine::PrefillOptions out;
  out.cancel = cancel_;
  return out;
}

// A pseudo-random token that depends on the stream and the position alone, so that a repetition
// repeats.
std::int32_t SpeedTest::token(std::int64_t stream, std::int64_t position) const {
  std::uint64_t bits = static_cast<std::uint64_t>(stream) << 32;
  bits += static_cast<std::uint64_t>(position) + 1;
  bits *= 0x9e3779b97f4a7c15;
  bits ^= bits >> 29;
  bits *= 0xbf58476d1ce4e5b9;
  bits ^= bits >> 32;
  const std::int64_t rows =
      std::min(model_->manifest().embedding.rows, std::int64_t{model_->vocab_size()});
  return static_cast<std::int32_t>(bits % static_cast<std::uint64_t>(rows));
}

std::vector<std::int32_t> SpeedTest::tokens(std::int64_t stream, std::int64_t begin,
                                            std::int64_t count) const {
  std::vector<std::int32_t> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(token(stream, begin + i));
  return out;
}

SpeedTest::Answer SpeedTest::answer_of(const engine::Session& session) {
  if (session.argmax()) return {static_cast<float>(*session.argmax())};
  return {session.logits().begin(), session.logits().end()};
}

// `streams` sessions with `depth` tokens each.
Status SpeedTest::fill(std::int64_t streams, std::int64_t depth) {
  while (sessions_.size() > static_cast<std::size_t>(streams)) sessions_.pop_back();
  while (sessions_.size() < static_cast<std::size_t>(streams)) {
    ANEMONE_ASSIGN_OR_RETURN(auto session, engine::Session::create(model_));
    sessions_.push_back(std::move(session));
  }
  for (std::size_t i = 0; i < sessions_.size(); ++i) {
    ANEMONE_RETURN_IF_ERROR(check_cancel());
    if (depth == 0)
      sessions_[i]->reset();
    else if (sessions_[i]->position() < depth)
      ANEMONE_RETURN_IF_ERROR(
          sessions_[i]
              ->prefill_to(tokens(static_cast<std::int64_t>(i), 0, depth), prefill_options())
              .status());
    step_done();
  }
  return cut(depth);
}

Status SpeedTest::cut(std::int64_t depth) {
  for (const auto& session : sessions_) ANEMONE_RETURN_IF_ERROR(session->truncate(depth));
  return {};
}

Result<Speed> SpeedTest::prefill(std::int64_t count, std::int64_t depth) {
  ANEMONE_CHECK(fits(count, depth));
  ANEMONE_RETURN_IF_ERROR(fill(1, depth));
  engine::Session& session = *sessions_.front();
  const auto ids = tokens(0, depth, count);
  Answer first;
  std::vector<double> speeds;
  for (int i = 0; i <= repetitions_; ++i) {
    ANEMONE_RETURN_IF_ERROR(session.truncate(depth));
    const auto start = SpeedClock::now();
    ANEMONE_RETURN_IF_ERROR(session.prefill(ids, prefill_options()));
    const std::chrono::duration<double> time = SpeedClock::now() - start;
    const Answer answer = answer_of(session);
    if (i == 0)
      first = answer;
    else if (answer != first)
      return internal_error("[prefill] the logits differ between repetitions");
    else
      speeds.push_back(static_cast<double>(count) / time.count());
    step_done();
  }
  if (!is_finite(first)) return internal_error("[prefill] the logits are not finite numbers");
  return speed_of(std::move(speeds));
}

Status SpeedTest::run_steps(std::int64_t steps) {
  std::vector<engine::DecodeStep> batch(sessions_.size());
  for (std::int64_t step = 0; step < steps; ++step) {
    ANEMONE_RETURN_IF_ERROR(check_cancel());
    for (std::size_t i = 0; i < batch.size(); ++i)
      batch[i] = {sessions_[i].get(),
                  token(static_cast<std::int64_t>(i), sessions_[i]->position())};
    ANEMONE_RETURN_IF_ERROR(engine::decode_batch(batch));
  }
  return {};
}

// The last stream gives what it gives alone.
Status SpeedTest::check_streams(std::int64_t depth) {
  engine::Session& last = *sessions_.back();
  ANEMONE_RETURN_IF_ERROR(
      last.decode(token(static_cast<std::int64_t>(sessions_.size()) - 1, depth)).status());
  const Answer alone = answer_of(last);
  ANEMONE_RETURN_IF_ERROR(cut(depth));
  ANEMONE_RETURN_IF_ERROR(run_steps(1));
  const Answer beside = answer_of(last);
  ANEMONE_RETURN_IF_ERROR(cut(depth));
  if (!is_finite(alone)) return internal_error("[decode] the logits are not finite numbers");
  if (beside != alone)
    return internal_error("[decode] the logits of {} streams differ from those of a session alone",
                          sessions_.size());
  return {};
}

Result<Speed> SpeedTest::decode(std::int64_t steps, std::int64_t depth, std::int64_t streams) {
  ANEMONE_CHECK(fits(steps, depth));
  ANEMONE_RETURN_IF_ERROR(fill(streams, depth));
  ANEMONE_RETURN_IF_ERROR(check_streams(depth));
  Answer first;
  std::vector<double> speeds;
  for (int i = 0; i < repetitions_; ++i) {
    ANEMONE_RETURN_IF_ERROR(cut(depth));
    const auto start = SpeedClock::now();
    ANEMONE_RETURN_IF_ERROR(run_steps(steps));
    const std::chrono::duration<double> time = SpeedClock::now() - start;
    Answer answer = answer_of(*sessions_.back());
    if (i == 0)
      first = std::move(answer);
    else if (answer != first)
      return internal_error("[decode] the logits differ between repetitions");
    speeds.push_back(static_cast<double>(steps * streams) / time.count());
    step_done();
  }
  return speed_of(std::move(speeds));
}

}  // namespace anemone::bench
