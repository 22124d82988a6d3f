// SPDX-License-Identifier: Apache-2.0
#include "engine/agreement.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "engine/session/session.h"

namespace anemone::engine {
namespace {

// Positions whose reference logits wait in memory for those of the model.
constexpr std::size_t kChunk = 64;
// The logit of a token that is nine tenths as likely as the most likely one is at most this much
// lower.
const double kNearMargin = -std::log(0.9);
// The largest loss that a position counts, also one whose logits are not finite: it lifts the
// perplexity beyond every limit and stays finite.
constexpr double kWorstLoss = 100;

// What one position's logits say.
struct Distribution {
  std::size_t best = 0;
  double log_sum = 0;
  bool is_finite = true;
};

Distribution distribution_of(std::span<const float> logits) {
  Distribution out;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    out.is_finite = out.is_finite && std::isfinite(logits[i]);
    if (logits[i] > logits[out.best]) out.best = i;
  }
  if (!out.is_finite) return out;
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit} - double{logits[out.best]});
  out.log_sum = double{logits[out.best]} + std::log(sum);
  return out;
}

double loss_of(std::span<const float> logits, const Distribution& distribution, std::int32_t next) {
  if (!distribution.is_finite) return kWorstLoss;
  const double loss = distribution.log_sum - double{logits[static_cast<std::size_t>(next)]};
  return std::clamp(loss, 0.0, kWorstLoss);
}

double cosine_of(std::span<const float> a, std::span<const float> b) {
  double dot = 0;
  double a_square = 0;
  double b_square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    dot += double{a[i]} * double{b[i]};
    a_square += double{a[i]} * double{a[i]};
    b_square += double{b[i]} * double{b[i]};
  }
  // Two zero vectors are equal; one alone has no direction.
  if (a_square == 0 || b_square == 0) return a_square == b_square ? 1 : 0;
  return std::clamp(dot / std::sqrt(a_square * b_square), -1.0, 1.0);
}

}  // namespace

Status AgreementMeter::add(std::span<const float> reference, std::span<const float> logits,
                           std::int32_t next) {
  const Distribution wanted = distribution_of(reference);
  if (!wanted.is_finite)
    return corrupt("[reference] expected finite logits, got NaN or infinity (position {})",
                   cosines_.size());
  const Distribution got = distribution_of(logits);
  cosines_.push_back(got.is_finite ? cosine_of(reference, logits) : 0);
  if (got.is_finite) {
    same_ += got.best == wanted.best ? 1 : 0;
    near_ += double{reference[wanted.best]} - double{reference[got.best]} <= kNearMargin ? 1 : 0;
  }
  if (next < 0) return {};
  ++next_count_;
  loss_ += loss_of(logits, got, next);
  reference_loss_ += loss_of(reference, wanted, next);
  return {};
}

artifact::Agreement AgreementMeter::result() const {
  std::vector<double> sorted = cosines_;
  std::sort(sorted.begin(), sorted.end());
  const auto count = static_cast<double>(sorted.size());
  const auto next_count = static_cast<double>(next_count_);
  artifact::Agreement out;
  out.tokens = static_cast<std::int64_t>(sorted.size());
  out.cosine_mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count;
  out.cosine_median = sorted[sorted.size() / 2];
  out.cosine_min = sorted.front();
  out.top1 = static_cast<double>(same_) / count;
  out.top1_near = static_cast<double>(near_) / count;
  out.perplexity = std::exp(loss_ / next_count);
  out.reference_perplexity = std::exp(reference_loss_ / next_count);
  return out;
}

Result<artifact::Agreement> compare_models(const std::shared_ptr<const Model>& reference,
                                           const std::shared_ptr<const Model>& model,
                                           std::span<const std::int32_t> ids,
                                           const CompareOptions& options) {
  if (reference->vocab_size() != model->vocab_size())
    return invalid_argument(
        "[{}] expected a vocabulary of {} entries, like that of the reference, got {}",
        model->path(), reference->vocab_size(), model->vocab_size());
  if (ids.size() < 2)
    return invalid_argument("[ids] expected two tokens or more, got {}", ids.size());
  for (const std::int32_t id : ids)
    if (id < 0 || id >= model->vocab_size())
      return invalid_argument("[ids] expected ids below {}, got {}", model->vocab_size(), id);
  ANEMONE_ASSIGN_OR_RETURN(const auto reference_session, Session::create(reference));
  ANEMONE_ASSIGN_OR_RETURN(const auto session, Session::create(model));
  const auto vocab_size = static_cast<std::size_t>(model->vocab_size());
  AgreementMeter meter;
  std::vector<float> wanted;
  for (std::size_t begin = 0; begin < ids.size(); begin += kChunk) {
    const auto chunk = ids.subspan(begin, std::min(kChunk, ids.size() - begin));
    wanted.clear();
    PrefillOptions keep{.on_logits = {}, .on_progress = {}, .cancel = options.cancel};
    keep.on_logits = [&](std::int64_t, std::span<const float> logits) -> Status {
      wanted.insert(wanted.end(), logits.begin(), logits.end());
      return {};
    };
    ANEMONE_RETURN_IF_ERROR(reference_session->prefill(chunk, keep));
    PrefillOptions compare = keep;
    std::size_t at = 0;  // in the chunk
    compare.on_logits = [&](std::int64_t, std::span<const float> logits) -> Status {
      const std::size_t following = begin + at + 1;
      const std::int32_t next = following < ids.size() ? ids[following] : -1;
      const auto row = std::span<const float>(wanted).subspan(at * vocab_size, vocab_size);
      ++at;
      return meter.add(row, logits, next);
    };
    ANEMONE_RETURN_IF_ERROR(session->prefill(chunk, compare));
    if (options.on_progress)
      options.on_progress(static_cast<std::int64_t>(begin + chunk.size()),
                          static_cast<std::int64_t>(ids.size()));
  }
  return meter.result();
}

}  // namespace anemone::engine
