// SPDX-License-Identifier: Apache-2.0
#if defined(__aarch64__)
#define ANEMONE_SIMD_NAMESPACE neon
#define ANEMONE_SIMD_NEON
#include "kernels/simd/table.h"
#endif
