// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "quant/scheme.h"

namespace anemone::quant {

// The weight as operations of iOS 16 and 17 hold it, over the same bytes: one scale per matrix or
// per output channel is a constexpr_affine_dequantize, one palette per matrix the first form of
// constexpr_lut_to_dense, whose indices are a vector of bytes. kUnsupported for blocks of inputs
// and for palettes of groups of channels, which have no counterpart before iOS 18.
Result<StoredWeight> older_form(const StoredWeight& weight);

}  // namespace anemone::quant
