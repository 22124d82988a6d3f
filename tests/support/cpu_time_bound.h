// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#include <gtest/gtest.h>

namespace anemone::testing {

// Expects a scope to end within 60 seconds of processor time, which is generous for sanitizers on a
// busy machine: what is tested with it ends within a second, or would take minutes to forever.
class CpuTimeBound {
 public:
  CpuTimeBound() = default;
  CpuTimeBound(const CpuTimeBound&) = delete;
  CpuTimeBound& operator=(const CpuTimeBound&) = delete;
  ~CpuTimeBound() { EXPECT_LT(static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC, 60); }

 private:
  const std::clock_t start_ = std::clock();
};

}  // namespace anemone::testing
