// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#define ANEMONE_PALETTES_NAMESPACE vbmi
#define ANEMONE_PALETTES_VBMI
#include "kernels/simd/int8_palettes_rows.h"
#endif
