// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace anemone::quant {

// How often each value occurs, by its fp16 rounding after division by `unit` (which brings the
// largest magnitude to about 1). A palette's error is far above that rounding.
class Histogram {
 public:
  explicit Histogram(float unit);  // > 0
  void add(std::span<const float> values);

  struct Bin {
    float value = 0;  // in units of the caller
    double count = 0;
  };
  std::vector<Bin> bins() const;  // that occur, by rising value

 private:
  float unit_;
  std::vector<std::uint32_t> counts_;  // by order of the half's value
};

// At most `count` centres of the values, ascending. Lloyd's algorithm for weighted points on a
// line, started where the cube root of the density puts them (the optimum for many centres: Panter
// and Dite, 1951). It uses no random numbers: the same values give the same centres.
std::vector<float> kmeans(std::span<const Histogram::Bin> bins, std::size_t count);

}  // namespace anemone::quant
