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
namespace {

// Making integers of keys and values takes a while, which pays off for many rows. One token of a
// text has as many rows as query heads share a key/value head; where these are few, floats are
// faster. The choice must not depend on the number of rows, which may not show in a result.
bool takes_integers(const AttentionHead& head) {
  return head.shared_by >= (head.dim >= 128 ? 2 : 6);
}

}  // namespace

void attend(const AttentionHead& head, const AttentionRow* rows, std::int64_t count,
            float* scratch) {
  if (!takes_integers(head)) return avx512::kKernels.attend(head, rows, count, scratch);
  // An infinity is no integer times a factor: rows that attend to one are computed in floats.
  const auto attend_in_floats = [&](const AttentionRow* some, std::int64_t taken) {
    avx512::kKernels.attend(head, some, taken, scratch);
  };
  attend_in_parts<kGroups * kGroupRows>(
      rows, count,
      [&](const AttentionRow* some, std::int64_t taken) {
        bool is_special[kGroups * kGroupRows] = {};
        attend_many(head, some, taken, scratch, is_special);
        for (std::int64_t r = 0; r < taken;) {
          std::int64_t next = r + 1;
          while (next < taken && is_special[next] == is_special[r]) ++next;
          if (is_special[r]) attend_in_floats(some + r, next - r);
          r = next;
        }
      },
      [&](const AttentionRow* some, std::int64_t taken) {
        if (!attend_few(head, some, taken, scratch)) attend_in_floats(some, taken);
      });
}

}  // namespace avx512vnni
}  // namespace anemone::kernels::simd
#endif
