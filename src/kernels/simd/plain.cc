// SPDX-License-Identifier: Apache-2.0
#define ANEMONE_SIMD_NAMESPACE plain
#include "kernels/simd/table.h"
