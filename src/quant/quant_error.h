// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace anemone::quant {

// How far the weights of a package are from those of the checkpoint. Single-thread.
class QuantError {
 public:
  // Equally long.
  void add(std::span<const float> original, std::span<const float> stored) {
    count_ += original.size();
    for (std::size_t i = 0; i < original.size(); ++i) {
      const double error = static_cast<double>(stored[i]) - static_cast<double>(original[i]);
      errors_ += error * error;
      weights_ += static_cast<double>(original[i]) * static_cast<double>(original[i]);
      largest_ = std::max(largest_, std::abs(error));
    }
  }

  bool is_measured() const { return count_ > 0; }
  // Root of the sum of squared errors over that of squared weights; 0 for a matrix of zeros.
  double relative() const { return weights_ > 0 ? std::sqrt(errors_ / weights_) : 0; }
  double largest() const { return largest_; }  // of a single weight

 private:
  std::size_t count_ = 0;
  double errors_ = 0;
  double weights_ = 0;
  double largest_ = 0;
};

}  // namespace anemone::quant
