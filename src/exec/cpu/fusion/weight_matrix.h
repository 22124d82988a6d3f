// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "exec/cpu/fusion/graph.h"
#include "kernels/simd/matrix.h"

namespace anemone::exec {

// The constant behind a register as a matrix [rows, k] over the bytes of the package: an fp16
// constant, or a constexpr operation of a form that kernels read directly. Trailing dimensions of
// one (convolution kernels) are left out. nullopt for everything else.
std::optional<kernels::simd::Matrix> weight_matrix(const FusionGraph& graph, int reg);

}  // namespace anemone::exec
