// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "artifact/manifest.h"

namespace anemone::artifact::testing {

// Two shards, two heads, full and sliding attention, states and fp32 caches: every field that the
// format has is in use.
Manifest sample_manifest();

// The same with embeddings in quantized forms: scales in a file, scales in the manifest, palettes.
Manifest sample_with_quantized_rows();

// The same with both heads in the package of the last layers.
Manifest sample_with_head_inside();

}  // namespace anemone::artifact::testing
