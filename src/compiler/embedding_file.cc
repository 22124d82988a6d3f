// SPDX-License-Identifier: Apache-2.0
#include "compiler/embedding_file.h"

#include <cmath>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace anemone::compiler {
namespace {
constexpr std::int64_t kBlockElements = 1 << 20;
}

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

}  // namespace anemone::compiler
