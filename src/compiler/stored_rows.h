// SPDX-License-Identifier: Apache-2.0
// Stored weights as the manifest names them for host lookup.
#pragma once

#include <anemone/status.h>

#include <optional>

#include "artifact/manifest.h"
#include "mlpackage/model.h"
#include "quant/scheme.h"

namespace anemone::compiler {

// How a matrix that is stored so stands for floats, but for the places of its parts; nullopt where
// it is floats.
std::optional<artifact::Quantization> quantization_of(const quant::StoredWeight& weight);

// Where the rows of a head will lie, whose package `model` is: nullopt where they are so few that
// they lie in the program. Scales that lie there are computed, with `reads_weights`, and kept for
// the package.
Result<std::optional<artifact::EmbeddingPart>> rows_of_head(const mlpackage::Model& model,
                                                            const quant::StoredWeight& weight,
                                                            const artifact::Head& head,
                                                            bool reads_weights);

}  // namespace anemone::compiler
