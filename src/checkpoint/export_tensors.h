// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <functional>
#include <string>

#include "checkpoint/weight_source.h"

namespace anemone::checkpoint {

// Called after each piece: bytes of the source that are done, and of all its tensors.
using ExportProgress =
    std::function<void(std::uint64_t done, std::uint64_t total, const std::string& tensor)>;

// Writes all tensors under their names to one safetensors file, floats as `dtype` (fp32, fp16 or
// bf16), integers as they are. fp32 is exact for every float below it; narrower ones round to the
// nearest. kUnsupported for a value that fp16 cannot hold. Memory is bounded by a few MB.
Status export_tensors(const WeightSource& source, const std::string& path, DType dtype,
                      const ExportProgress& progress = nullptr);

}  // namespace anemone::checkpoint
