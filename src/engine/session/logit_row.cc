// SPDX-License-Identifier: Apache-2.0
#include "engine/session/logit_row.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/check.h"

namespace anemone::engine {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();
// Compilers make no vectors of the loops below by themselves. Their sums have the same order on
// every processor.
constexpr std::size_t kLanes = 8;
using Floats [[gnu::vector_size(kLanes * sizeof(float))]] = float;
using Ints [[gnu::vector_size(kLanes * sizeof(float))]] = std::int32_t;
static_assert(LogitRow::kStretch % kLanes == 0);

// Cody and Waite's reduction to |r| <= ln(2) / 2 and the series of exp to r^7 / 7!, whose next term
// is below 6e-9.
[[gnu::always_inline]] inline void weigh(const Floats& x, Floats& weights) {
  constexpr float kLog2e = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;  // few bits: its products are exact
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRound = 0x1.8p23F;  // adding it leaves no bits for fractions
  constexpr float kLeast = -87;        // below, the result is no normal number
  const Ints is_normal = x > kLeast;
  const auto used = reinterpret_cast<Floats>(reinterpret_cast<Ints>(x) & is_normal);  // or 0
  const Floats shifted = used * kLog2e + kRound;
  const Floats n = shifted - kRound;
  const Floats r = (used - n * kLn2High) - n * kLn2Low;
  Floats sum = r * (1.0F / 5040) + 1.0F / 720;
  sum = sum * r + 1.0F / 120;
  sum = sum * r + 1.0F / 24;
  sum = sum * r + 1.0F / 6;
  sum = sum * r + 0.5F;
  sum = sum * r + 1;
  sum = sum * r + 1;
  // The low bits of `shifted` are n; those of the exponent begin at 23.
  const Ints bits = reinterpret_cast<Ints>(sum) + (reinterpret_cast<Ints>(shifted) << 23);
  weights = reinterpret_cast<Floats>(bits & is_normal);
}

struct Maximum {
  float value = kLowest;
  bool has_nan = false;
};

[[gnu::always_inline]] inline Maximum maximum(const float* logits, std::size_t count) {
  Floats highest = Floats{} + kLowest;
  Ints is_nan = {};
  const auto add = [&](const Floats& some) {
    highest = some > highest ? some : highest;
    is_nan |= some != some;
  };
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Floats some;
    std::memcpy(&some, logits + i, sizeof(some));
    add(some);
  }
  if (i < count) {
    Floats rest = Floats{} + kLowest;
    std::memcpy(&rest, logits + i, (count - i) * sizeof(float));
    add(rest);
  }
  Maximum out;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    out.value = highest[lane] > out.value ? highest[lane] : out.value;
    out.has_nan = out.has_nan || is_nan[lane] != 0;
  }
  return out;
}

[[gnu::always_inline]] inline float sum_of(const float* logits, std::size_t count, float highest,
                                           float scale) {
  Floats sums = {};
  const auto add = [&](const Floats& some) {
    Floats weights;
    weigh((some - highest) * scale, weights);
    sums += weights;
  };
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Floats some;
    std::memcpy(&some, logits + i, sizeof(some));
    add(some);
  }
  if (i < count) {
    Floats rest = Floats{} + kLowest;
    std::memcpy(&rest, logits + i, (count - i) * sizeof(float));
    add(rest);
  }
  float sum = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) sum += sums[lane];
  return sum;
}

[[gnu::always_inline]] inline bool fill_maxima(std::span<const float> logits,
                                               std::span<float> maxima) {
  bool has_nan = false;
  for (std::size_t s = 0; s < maxima.size(); ++s) {
    const std::size_t first = s * LogitRow::kStretch;
    const Maximum found =
        maximum(logits.data() + first, std::min(LogitRow::kStretch, logits.size() - first));
    maxima[s] = found.value;
    has_nan = has_nan || found.has_nan;
  }
  return has_nan;
}

[[gnu::always_inline]] inline void fill_sums(std::span<const float> logits, float highest,
                                             float scale, std::span<double> sums) {
  for (std::size_t s = 0; s < sums.size(); ++s) {
    const std::size_t first = s * LogitRow::kStretch;
    sums[s] = static_cast<double>(sum_of(logits.data() + first,
                                         std::min(LogitRow::kStretch, logits.size() - first),
                                         highest, scale));
  }
}

#ifdef __x86_64__
[[gnu::target("avx2")]] bool fill_maxima_avx2(std::span<const float> logits,
                                              std::span<float> maxima) {
  return fill_maxima(logits, maxima);
}
[[gnu::target("avx2")]] void fill_sums_avx2(std::span<const float> logits, float highest,
                                            float scale, std::span<double> sums) {
  fill_sums(logits, highest, scale, sums);
}
#endif

}  // namespace

float softmax_weight(float x) {
  Floats weights;
  weigh(Floats{x}, weights);
  return weights[0];
}

void LogitRow::set(std::span<const float> logits) {
  logits_ = logits;
  maxima_.clear();
  look();
}

void LogitRow::set(const LogitRow& other, std::size_t count) {
  ANEMONE_CHECK(count <= other.logits_.size());
  logits_ = other.logits_.first(count);
  // Nobody knows where a NaN is. The last stretch of the other row may be cut off in the middle.
  const std::size_t known = other.has_nan_                  ? 0
                            : count == other.logits_.size() ? other.maxima_.size()
                                                            : count / kStretch;
  const auto begin = other.maxima_.begin();
  maxima_.assign(begin, begin + static_cast<std::ptrdiff_t>(known));
  look();
}

void LogitRow::look() {
  const std::size_t known = maxima_.size();
  maxima_.resize((logits_.size() + kStretch - 1) / kStretch);
  const auto logits = logits_.subspan(std::min(known * kStretch, logits_.size()));
  const auto maxima = std::span(maxima_).subspan(known);
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2"))
    has_nan_ = fill_maxima_avx2(logits, maxima);
  else
#endif
    has_nan_ = fill_maxima(logits, maxima);
  highest_ = kLowest;
  for (const float maximum : maxima_) highest_ = std::max(highest_, maximum);
}

std::int32_t LogitRow::first_highest() const {
  ANEMONE_CHECK(!maxima_.empty());
  const auto stretch = std::ranges::find(maxima_, highest_) - maxima_.begin();
  const auto rest = logits_.subspan(static_cast<std::size_t>(stretch) * kStretch);
  return static_cast<std::int32_t>(std::ranges::find(rest, highest_) - rest.begin() +
                                   stretch * static_cast<std::ptrdiff_t>(kStretch));
}

float LogitRow::bound(std::size_t count) const {
  if (count == 0 || count > maxima_.size()) return kLowest;
  sorted_ = maxima_;
  const auto last = sorted_.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(sorted_.begin(), last, sorted_.end(), std::greater<>());
  return *last;
}

void LogitRow::find(float bound, std::vector<std::int32_t>& ids) const {
  ids.clear();
  for (std::size_t s = 0; s < maxima_.size(); ++s) {
    if (maxima_[s] < bound) continue;
    const std::size_t end = std::min((s + 1) * kStretch, logits_.size());
    for (std::size_t i = s * kStretch; i < end; ++i)
      if (!(logits_[i] < bound)) ids.push_back(static_cast<std::int32_t>(i));
  }
}

// Finite, as 0 times it has to be 0.
float LogitRow::scale(double temperature) const {
  return static_cast<float>(
      std::min(1 / temperature, static_cast<double>(std::numeric_limits<float>::max())));
}

float LogitRow::weight(std::int32_t id, double temperature) const {
  return softmax_weight((logits_[static_cast<std::size_t>(id)] - highest_) * scale(temperature));
}

double LogitRow::sum_weights(double temperature, std::vector<double>& of_stretches) const {
  of_stretches.resize(maxima_.size());
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2"))
    fill_sums_avx2(logits_, highest_, scale(temperature), of_stretches);
  else
#endif
    fill_sums(logits_, highest_, scale(temperature), of_stretches);
  double sum = 0;
  for (const double part : of_stretches) sum += part;
  return sum;
}

}  // namespace anemone::engine
