// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/peak.h"

#include <gtest/gtest.h>

namespace anemone::kernels::simd {
namespace {

TEST(Peak, EveryInstructionSetHasLoopsThatRun) {
  for (const Isa isa : supported_isas())
    for (const Peak& peak : {int8_peak(isa), bf16_peak(isa)}) {
      SCOPED_TRACE(std::string(isa_name(isa)));
      // VBMI has shuffles and no multiplications, so the loops are those of VNNI.
      const Isa multiplied_by = isa == Isa::kAvx512Vbmi ? Isa::kAvx512Vnni : isa;
      EXPECT_TRUE(peak.instructions.starts_with(isa_name(multiplied_by))) << peak.instructions;
      EXPECT_GT(peak.operations, 0);
      peak.run(3);
    }
}

}  // namespace
}  // namespace anemone::kernels::simd
