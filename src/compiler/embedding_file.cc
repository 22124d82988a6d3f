// SPDX-License-Identifier: Apache-2.0
#include "compiler/embedding_file.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace anemone::compiler {
namespace {
constexpr std::int64_t kBlockElements = 1 << 20;
// Fewer and larger, because the source gives back all of its pages after each.
constexpr std::int64_t kQuantizedBlockElements = 1 << 22;
constexpr std::uint64_t kScaleAlignment = 4;  // of fp32
}  // namespace

Status write_embedding(const checkpoint::WeightRef& weight, DType dtype, const std::string& path,
                       ThreadPool& threads, const std::function<void(std::uint64_t)>& advance) {
  const std::int64_t rows = weight.shape[0];
  const std::int64_t columns = weight.shape[1];
  ANEMONE_ASSIGN_OR_RETURN(AtomicFile out, AtomicFile::create(path));
  const std::int64_t rows_per_block = std::max<std::int64_t>(1, kBlockElements / columns);
  std::mutex mutex;
  Status first_error;
  threads.parallel_for(rows, rows_per_block, [&](std::int64_t begin, std::int64_t end) {
    {
      std::lock_guard lock(mutex);
      if (!first_error.ok()) return;
    }
    const std::int64_t count = (end - begin) * columns;
    std::vector<float> values(static_cast<std::size_t>(count));
    read_floats(weight, begin * columns, values);
    Tensor block(dtype, {count});
    store_floats(values, block.mutable_view());
    Status status;
    for (std::size_t i = 0; i < values.size() && status.ok(); ++i)
      if (!std::isfinite(values[i]) ||
          (dtype == DType::kFp16 && std::abs(values[i]) > kLargestHalf))
        status = unsupported("[{}] expected values that {} can hold, got {} in row {}", weight.name,
                             dtype_name(dtype), values[i],
                             begin + static_cast<std::int64_t>(i) / columns);
    const std::uint64_t row_bytes = dtype_bytes(dtype, static_cast<std::uint64_t>(columns));
    if (status.ok())
      status = out.write_at(static_cast<std::uint64_t>(begin) * row_bytes, block.view().bytes());
    // Give the source pages back as we go: the whole table may be larger than the memory bound.
    const std::size_t row_size = weight.bytes.size() / static_cast<std::size_t>(rows);
    weight.file->release(weight.bytes.subspan(static_cast<std::size_t>(begin) * row_size,
                                              static_cast<std::size_t>(end - begin) * row_size));
    std::lock_guard lock(mutex);
    if (!status.ok() && first_error.ok()) first_error = status;
    advance(static_cast<std::uint64_t>(end - begin) * row_bytes);
  });
  if (!first_error.ok()) return first_error;
  return out.commit();
}

std::uint64_t quantized_scales_offset(const artifact::Embedding& table,
                                      const artifact::EmbeddingPart& part) {
  return (artifact::row_bytes(table, part) + kScaleAlignment - 1) / kScaleAlignment *
         kScaleAlignment;
}

Status write_quantized_embedding(const RowStore& store, const artifact::Embedding& table,
                                 const std::string& path, ThreadPool& threads,
                                 const std::function<void(std::uint64_t)>& advance) {
  const artifact::EmbeddingPart& part = table.parts.front();
  const artifact::Quantization& form = *part.quantization;
  const auto bytes_of = [&](std::int64_t rows) {
    return dtype_bytes(form.dtype, static_cast<std::uint64_t>(rows * table.columns));
  };
  // The scales or palettes of a block of rows have `scales_per_block` bytes.
  const std::uint64_t all_scales = dtype_bytes(table.dtype, artifact::block_values(table, part));
  const std::uint64_t scales_per_block =
      all_scales / static_cast<std::uint64_t>(part.rows / form.block_rows);
  const auto scale_bytes_of = [&](std::int64_t rows) {
    return static_cast<std::uint64_t>(rows / form.block_rows) * scales_per_block;
  };
  ANEMONE_ASSIGN_OR_RETURN(AtomicFile out, AtomicFile::create(path));
  // Four rows of elements of 4 or 6 bits end on a whole byte.
  const std::int64_t least = form.block_rows * 4;
  const std::int64_t rows_per_block =
      std::max<std::int64_t>(1, kQuantizedBlockElements / table.columns / least) * least;
  std::mutex mutex;
  Status first_error;
  const std::int64_t blocks = (part.rows + rows_per_block - 1) / rows_per_block;
  const auto write_block = [&](std::int64_t begin) -> Status {
    const std::int64_t count = std::min(rows_per_block, part.rows - begin);
    ANEMONE_ASSIGN_OR_RETURN(const quant::StoredWeight rows, store(begin, count));
    ANEMONE_ASSIGN_OR_RETURN(const Tensor elements, rows.parameters[0].second.to_tensor());
    ANEMONE_ASSIGN_OR_RETURN(const Tensor scales, rows.parameters[1].second.to_tensor());
    ANEMONE_RETURN_IF_ERROR(out.write_at(bytes_of(begin), elements.view().bytes()));
    ANEMONE_RETURN_IF_ERROR(
        out.write_at(form.offset + scale_bytes_of(begin), scales.view().bytes()));
    const std::lock_guard lock(mutex);
    advance(bytes_of(count) + scale_bytes_of(count));
    return {};
  };
  threads.parallel_for(blocks, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block) {
      {
        const std::lock_guard lock(mutex);
        if (!first_error.ok()) return;
      }
      const Status status = write_block(block * rows_per_block);
      const std::lock_guard lock(mutex);
      if (!status.ok() && first_error.ok()) first_error = status;
    }
  });
  if (!first_error.ok()) return first_error;
  return out.commit();
}

}  // namespace anemone::compiler
