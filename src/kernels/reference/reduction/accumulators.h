// SPDX-License-Identifier: Apache-2.0
// The accumulators of the reductions, for C = float and C = std::int64_t. Integers wrap around as
// int32 does; a result that is not an integer (a mean, a root) is rounded toward zero.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/reference/common/elements.h"

namespace anemone::kernels::reference {

// A long sum of squares of int32 does not fit in 64 bits. Unsigned arithmetic wraps around, where
// signed overflow would be undefined.
template <typename C>
using Wrapping = std::conditional_t<std::is_same_v<C, float>, float, std::uint64_t>;

template <typename C>
struct Summed {
  Wrapping<C> total = 0;
  void merge(const Summed& other) { total += other.total; }
  C value() const { return static_cast<C>(total); }
};

// Converts a real result to the dtype that C stands for.
template <typename C>
C cut(double value) {
  if constexpr (std::is_same_v<C, float>)
    return static_cast<float>(value);
  else
    return saturate_to_integer<std::int32_t>(value);
}

template <typename C>
struct Sum : Summed<C> {
  void add(C x) { this->total += static_cast<Wrapping<C>>(x); }
  C finish(std::int64_t) const { return this->value(); }
};

template <typename C>
struct Mean : Sum<C> {
  C finish(std::int64_t count) const {
    if constexpr (std::is_same_v<C, float>)
      return this->total / static_cast<float>(count);
    else
      return count == 0 ? 0 : this->value() / count;
  }
};

template <typename C>
struct SumSquare : Summed<C> {
  void add(C x) { this->total += static_cast<Wrapping<C>>(x) * static_cast<Wrapping<C>>(x); }
  C finish(std::int64_t) const { return this->value(); }
};

template <typename C>
struct L2Norm : SumSquare<C> {
  C finish(std::int64_t) const {
    if constexpr (std::is_same_v<C, float>)
      return std::sqrt(this->total);
    else
      return cut<C>(std::sqrt(static_cast<double>(this->total)));
  }
};

template <typename C>
struct L1Norm : Summed<C> {
  void add(C x) { this->total += static_cast<Wrapping<C>>(std::abs(x)); }
  C finish(std::int64_t) const { return this->value(); }
};

template <typename C>
struct LogSum : Sum<C> {
  C finish(std::int64_t) const {
    if constexpr (std::is_same_v<C, float>)
      return std::log(this->total);
    else
      return cut<C>(std::log(static_cast<double>(this->value())));
  }
};

template <typename C>
struct Product {
  Wrapping<C> total = 1;
  void add(C x) { total *= static_cast<Wrapping<C>>(x); }
  void merge(const Product& other) { total *= other.total; }
  C finish(std::int64_t) const { return static_cast<C>(total); }
};

// NaN wins, as in numpy. The result over no elements is the value that every element would replace.
template <typename C>
struct Maximum {
  C value = std::is_same_v<C, float> ? static_cast<C>(-HUGE_VALF)
                                     : static_cast<C>(std::numeric_limits<std::int32_t>::min());
  void add(C x) { value = x > value || x != x ? x : value; }
  void merge(const Maximum& other) { add(other.value); }
  C finish(std::int64_t) const { return value; }
};

template <typename C>
struct Minimum {
  C value = std::is_same_v<C, float> ? static_cast<C>(HUGE_VALF)
                                     : static_cast<C>(std::numeric_limits<std::int32_t>::max());
  void add(C x) { value = x < value || x != x ? x : value; }
  void merge(const Minimum& other) { add(other.value); }
  C finish(std::int64_t) const { return value; }
};

// log(sum(exp(x))) with the largest element so far taken out, so that nothing overflows.
template <typename C>
struct LogSumExp {
  float largest = -HUGE_VALF;
  float total = 0;  // sum of exp(x - largest)
  void add(C x) { merge_with(static_cast<float>(x), 1.0f); }
  void merge(const LogSumExp& other) { merge_with(other.largest, other.total); }
  C finish(std::int64_t) const { return cut<C>(largest + std::log(total)); }

 private:
  void merge_with(float x, float weight) {
    if (x == largest) {  // infinities: their difference would be NaN
      total += weight;
    } else if (x > largest || std::isnan(x)) {
      total = total * std::exp(largest - x) + weight;
      largest = x;
    } else {
      total += weight * std::exp(x - largest);
    }
  }
};

}  // namespace anemone::kernels::reference
