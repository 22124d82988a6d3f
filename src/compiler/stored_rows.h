// SPDX-License-Identifier: Apache-2.0
// Where the host finds the embedding rows that a compiled model stores quantized: the entries of
// the manifest that say in which file, at which offset and in which scheme they are.
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
// weight.bin. Small scales are in the program, too: with `reads_weights` they are computed and
// become part of the entry.
Result<std::optional<artifact::EmbeddingPart>> rows_of_head(const mlpackage::Model& model,
                                                            const quant::StoredWeight& weight,
                                                            const artifact::Head& head,
                                                            bool reads_weights);

}  // namespace anemone::compiler
