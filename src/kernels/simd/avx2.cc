// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#define ANEMONE_SIMD_NAMESPACE avx2
#define ANEMONE_SIMD_AVX2
#include "kernels/simd/table.h"
#endif
