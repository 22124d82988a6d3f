// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <gtest/gtest.h>
#include <span>

namespace anemone::testing {

// The cosine of the angle between two vectors of one length, such as the logits of two models. NaN
// if a value is NaN or a vector is zero; NaN fulfils no bound.
inline double cosine(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  double dot = 0;
  double a_square = 0;
  double b_square = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    dot += double{a[i]} * double{b[i]};
    a_square += double{a[i]} * double{a[i]};
    b_square += double{b[i]} * double{b[i]};
  }
  return dot / std::sqrt(a_square * b_square);
}

}  // namespace anemone::testing
