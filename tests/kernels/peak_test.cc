// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/peak.h"

#include <gtest/gtest.h>

namespace anemone::kernels::simd {
namespace {

TEST(Peak, EveryInstructionSetHasLoopsThatRun) {
  for (const Isa isa : supported_isas())
    for (const Peak& peak : {int8_peak(isa), bf16_peak(isa)}) {
      SCOPED_TRACE(std::string(isa_name(isa)));
      EXPECT_TRUE(peak.instructions.starts_with(isa_name(isa))) << peak.instructions;
      EXPECT_GT(peak.operations, 0);
      peak.run(3);
    }
}

}  // namespace
}  // namespace anemone::kernels::simd
