// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace anemone::engine {

// exp(x) for x <= 0 with a relative error below 2e-7, the same bits on every platform; 0 from about
// -87 on, and for NaN.
float softmax_weight(float x);

// The logits after one token. A vocabulary is long, and every text of a step waits for its sampler:
// this looks at all logits once, keeps the highest one of each stretch of them, and finds the few
// that matter by those. NaN counts as minus infinity. Single-thread; kept from step to step for its
// memory.
class LogitRow {
 public:
  static constexpr std::size_t kStretch = 256;

  // `logits` have to stay as they are while the row is looked at.
  void set(std::span<const float> logits);
  // The first `count` logits of another row, of which it takes over what that row has found.
  void set(const LogitRow& other, std::size_t count);

  std::span<const float> logits() const { return logits_; }
  bool has_nan() const { return has_nan_; }
  float highest() const { return highest_; }  // minus infinity where there is none
  std::int32_t first_highest() const;

  // A logit that at least `count` logits reach, near to the highest of which that is true; minus
  // infinity where no such one is known.
  float bound(std::size_t count) const;
  // Ids of the logits that are not below `bound`, in order.
  void find(float bound, std::vector<std::int32_t>& ids) const;

  // A softmax with a temperature, but for its denominator: 1 for the highest logit, which is not
  // infinite.
  float weight(std::int32_t id, double temperature) const;
  // The sum of all weights, and those of the stretches.
  double sum_weights(double temperature, std::vector<double>& of_stretches) const;

 private:
  // Finds the maxima of the stretches that maxima_ does not have yet; those that it has hold no
  // NaN.
  void look();
  float scale(double temperature) const;

  std::span<const float> logits_;
  std::vector<float> maxima_;  // of the stretches
  float highest_ = -std::numeric_limits<float>::infinity();
  bool has_nan_ = false;
  mutable std::vector<float> sorted_;  // memory of bound()
};

}  // namespace anemone::engine
