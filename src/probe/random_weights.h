// SPDX-License-Identifier: Apache-2.0
// Weights that a seed decides, the same on every machine.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <optional>
#include <string>

#include "probe/probe.h"
#include "tensor/tensor.h"

namespace anemone::probe {

// Uniform between -bound and bound.
Tensor random_tensor(DType dtype, const Shape& shape, double bound, std::uint64_t seed);
// The bound with which a product of `inputs` terms keeps the size of what it multiplies.
double weight_bound(std::int64_t inputs);

// Write a checkpoint of a Qwen2 of these sizes into a folder that is there: config.json, and
// model.safetensors. With a `window` the upper half of the layers attends to that many positions.
Status write_random_config(const std::string& folder, const Sizes& sizes,
                           std::optional<std::int64_t> window);
Status write_random_weights(const std::string& folder, const Sizes& sizes, std::uint64_t seed);

}  // namespace anemone::probe
