// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <functional>
#include <string>

#include "artifact/embedding.h"
#include "base/thread_pool.h"
#include "checkpoint/weight_source.h"
#include "quant/scheme.h"

namespace anemone::compiler {

// Writes a matrix row-major as fp16 or fp32, in blocks of rows, in parallel. `advance` is told the
// bytes as they are written.
Status write_embedding(const checkpoint::WeightRef& weight, DType dtype, const std::string& path,
                       ThreadPool& threads, const std::function<void(std::uint64_t)>& advance);

// Stores rows [begin, begin + count) of a matrix. Any thread.
using RowStore = std::function<Result<quant::StoredWeight>(std::int64_t begin, std::int64_t count)>;

// Where the scales or palettes of a part lie in a file of its own.
std::uint64_t quantized_scales_offset(const artifact::Embedding& table,
                                      const artifact::EmbeddingPart& part);

// Writes the one part of a quantized table, elements and then scales or palettes, in pieces of
// whole blocks, in parallel. A table of one block is written at once.
Status write_quantized_embedding(const RowStore& store, const artifact::Embedding& table,
                                 const std::string& path, ThreadPool& threads,
                                 const std::function<void(std::uint64_t)>& advance);

}  // namespace anemone::compiler
