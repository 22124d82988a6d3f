// SPDX-License-Identifier: Apache-2.0
// The entries of the manifest that tell the host where the embedding rows of a compiled model are:
// file, offset, and the scheme if they are quantized.
#pragma once

#include <anemone/status.h>

#include <optional>

#include "artifact/manifest.h"
#include "mlpackage/model.h"
#include "quant/scheme.h"

namespace anemone::compiler {

// The scheme of a stored matrix as the manifest describes it, without the offsets of its parts;
// nullopt for a matrix of floats.
std::optional<artifact::Quantization> quantization_of(const quant::StoredWeight& weight);

// Where the vocabulary rows of `head` lie in the files of its package `model`, which need not be
// written yet. nullopt where the matrix is so small that it is in the program and not in
// weight.bin. Fewer than 10 scales are in the program, too: with `reads_weights` they are computed
// and become part of the entry, else the entry has none.
Result<std::optional<artifact::EmbeddingPart>> rows_of_head(const mlpackage::Model& model,
                                                            const quant::StoredWeight& weight,
                                                            const artifact::Head& head,
                                                            bool reads_weights);

}  // namespace anemone::compiler
