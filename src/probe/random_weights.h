// SPDX-License-Identifier: Apache-2.0
// Weights that a seed decides, the same on every machine.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <string>

#include "probe/probe.h"
#include "tensor/tensor.h"

namespace anemone::probe {

// Uniform between -bound and bound.
Tensor random_tensor(DType dtype, const Shape& shape, double bound, std::uint64_t seed);
// The bound with which a product of `inputs` terms keeps the size of what it multiplies.
double weight_bound(std::int64_t inputs);

// Writes a checkpoint of a Qwen2 of these sizes into a folder that is there: config.json and, with
// `has_weights`, model.safetensors.
Status write_random_model(const std::string& folder, const Sizes& sizes, std::uint64_t seed,
                          bool has_weights);

}  // namespace anemone::probe
