// SPDX-License-Identifier: Apache-2.0
#include "engine/speculation/speculator.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "engine/speculation/draft_proposer.h"
#include "engine/speculation/ngram_proposer.h"

namespace anemone::engine {
namespace {

// After so many steps with proposals one goes without, so that its time is known.
constexpr std::int64_t kMostSpeculating = 128;
// Weight of the last proposal in the mean time of a proposed token.
constexpr double kNewShare = 0.2;

}  // namespace

Status check_speculation(const SpeculationOptions& options, const Model& model) {
  if (options.ngram != 0 &&
      (options.ngram < NgramProposer::kShortest || options.ngram > NgramProposer::kMaxLongest))
    return invalid_argument("[draft_ngram] expected a number from {} to {}, got {}",
                            NgramProposer::kShortest, NgramProposer::kMaxLongest, options.ngram);
  return options.draft == nullptr ? Status() : check_draft_model(*options.draft, model);
}

Speculator::Speculator(SpeculationOptions options, const Model& model)
    : options_(std::move(options)),
      can_speculate_(options_.is_on() && !model.keeps_recurrent_states() &&
                     check_speculation(options_, model).ok()),
      ids_(model.manifest().embedding.rows) {
  if (can_speculate_ && options_.draft != nullptr)
    draft_runner_ = std::make_unique<StepRunner>(options_.draft);
}

Result<std::unique_ptr<Speculation>> Speculator::make() {
  if (!can_speculate_) return std::unique_ptr<Speculation>();
  auto out = std::make_unique<Speculation>();
  if (options_.make_proposer) {
    ANEMONE_ASSIGN_OR_RETURN(out->proposer, options_.make_proposer());
  } else if (options_.draft != nullptr) {
    ANEMONE_ASSIGN_OR_RETURN(out->proposer, DraftProposer::create(*draft_runner_));
  } else {
    out->proposer = std::make_unique<NgramProposer>(options_.ngram);
  }
  return out;
}

std::uint64_t draft_cache_bytes(const SpeculationOptions& options, const Model& model,
                                std::int64_t tokens) {
  if (options.draft == nullptr || model.keeps_recurrent_states()) return 0;
  return Sequence::cache_bytes(*options.draft, std::min(tokens, options.draft->context()));
}

void Speculator::begin(std::int64_t texts) {
  has_proposals_ = false;
  step_ = {.tokens = texts, .made = static_cast<double>(texts), .draft_s = draft_s_};
}

Status Speculator::propose(Speculation& text, std::span<const std::int32_t> ids,
                           std::int64_t most) {
  text.tokens.clear();
  if (options_.is_adaptive && since_plain_ >= kMostSpeculating) return {};
  const auto source = text.proposer->look(ids);
  if (!source) return {};
  std::int64_t count = std::min(most, Proposer::kMostTokens);
  if (options_.is_adaptive) count = text.length.choose(*source, count, step_, times_);
  if (count <= 0) return {};
  const auto start = std::chrono::steady_clock::now();
  ANEMONE_RETURN_IF_ERROR(text.proposer->propose(count, text.tokens));
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  const auto is_wrong = [&](std::int32_t id) { return id < 0 || id >= ids_; };
  text.tokens.erase(std::ranges::find_if(text.tokens, is_wrong), text.tokens.end());
  text.source = *source;
  const auto proposed = std::ssize(text.tokens);
  if (proposed == 0) return {};
  const double each = time.count() / static_cast<double>(proposed);
  draft_s_ = draft_s_ == 0 ? each : draft_s_ + kNewShare * (each - draft_s_);
  has_proposals_ = true;
  step_.tokens += proposed;
  step_.made += text.length.expected(*source, proposed);
  return {};
}

void Speculator::end(double seconds) {
  times_.add(step_.tokens, seconds);
  since_plain_ = has_proposals_ ? since_plain_ + 1 : 0;
}

void Speculator::count(Speculation& text, std::int64_t accepted) {
  text.length.add(text.source, std::ssize(text.tokens), accepted);
}

}  // namespace anemone::engine
