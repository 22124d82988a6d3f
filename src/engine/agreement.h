// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "artifact/verification.h"
#include "engine/model/model.h"

namespace anemone::engine {

// Gathers an artifact::Agreement from pairs of logits, one pair per position in order.
// Single-thread.
class AgreementMeter {
 public:
  // `reference` and `logits` have the same length. `next` is the token that follows in the text, -1
  // after the last one. kCorrupt when the reference is not finite: there is nothing to compare
  // with.
  Status add(std::span<const float> reference, std::span<const float> logits, std::int32_t next);
  // The agreement over all pairs that were added. Requires at least one pair with a next token.
  artifact::Agreement result() const;

 private:
  std::vector<double> cosines_;
  std::int64_t same_ = 0;
  std::int64_t near_ = 0;
  std::int64_t next_count_ = 0;
  double loss_ = 0;
  double reference_loss_ = 0;
};

struct CompareOptions {
  std::function<void(std::int64_t done, std::int64_t total)> on_progress;  // tokens
  // Polled between chunks; when it is set, the call ends with kCancelled. May be null.
  const std::atomic<bool>* cancel = nullptr;
};

// Runs both models over `ids`, a chunk of the reference's logits in memory at a time. Needs two ids
// or more, no more than either context holds, and equal vocabularies: else kInvalidArgument.
Result<artifact::Agreement> compare_models(const std::shared_ptr<const Model>& reference,
                                           const std::shared_ptr<const Model>& model,
                                           std::span<const std::int32_t> ids,
                                           const CompareOptions& options = {});

}  // namespace anemone::engine
