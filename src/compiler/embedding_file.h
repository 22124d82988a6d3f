// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <functional>
#include <string>

#include "base/thread_pool.h"
#include "checkpoint/weight_source.h"

namespace anemone::compiler {

// Writes a matrix row-major as fp16 or fp32, in blocks of rows, in parallel. `advance` is told the
// bytes as they are written.
Status write_embedding(const checkpoint::WeightRef& weight, DType dtype, const std::string& path,
                       ThreadPool& threads, const std::function<void(std::uint64_t)>& advance);

}  // namespace anemone::compiler
