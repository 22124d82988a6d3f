// SPDX-License-Identifier: Apache-2.0
// Attention by products of int16 (attention_int16.h): a processor with VNNI computes twice as many
// of them as of floats.
//
// A row's result has the same bits alone and among others. Positions come in blocks of kPositions
// that begin at multiples of it. Within a block sums of integers are exact, and the weight of
// position s is added to lane s % kWidth of a vector whose lanes are added up. After each block the
// sums so far are scaled to its top. Positions that a row does not attend to have the weight 0.
#if defined(__x86_64__)
#define ANEMONE_SIMD_NAMESPACE avx512vnni
#define ANEMONE_SIMD_AVX512
#include "kernels/simd/attention_int16_few.h"
#include "kernels/simd/attention_int16_many.h"

namespace anemone::kernels::simd {

namespace avx512 {
extern const Kernels kKernels;
}

namespace avx512vnni {

void attend(const AttentionHead& head, const AttentionRow* rows, std::int64_t count,
            float* scratch) {
  bool is_finite = true;
  for (std::int64_t r = 0; r < count && is_finite;) {
    const AttentionRow* const some = rows + r;
    const std::int64_t left = count - r;
    std::int64_t taken = 1;
    if (left >= kGroupRows || some->bias != nullptr) {
      taken = left < kGroups * kGroupRows ? left : kGroups * kGroupRows;
      is_finite = attend_many(head, some, taken, scratch);
    } else {
      while (taken < left && some[taken].begin == some->begin && some[taken].end == some->end &&
             some[taken].bias == nullptr)
        ++taken;
      is_finite = attend_few(head, some, taken, scratch);
    }
    r += taken;
  }
  // An infinity is no integer times a factor.
  if (!is_finite) avx512::kKernels.attend(head, rows, count, scratch);
}

}  // namespace avx512vnni
}  // namespace anemone::kernels::simd
#endif
