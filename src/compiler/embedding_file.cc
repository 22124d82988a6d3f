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

Result<artifact::Embedding> write_embedding(const checkpoint::WeightRef& weight, DType dtype,
                                            const std::string& folder, const std::string& file,
                                            ThreadPool& threads,
                                            const std::function<void(std::uint64_t)>& advance) {
  artifact::Embedding embedding;
  embedding.file = file;
  embedding.dtype = dtype;
  embedding.rows = weight.shape[0];
  embedding.columns = weight.shape[1];
  ANEMONE_ASSIGN_OR_RETURN(AtomicFile out, AtomicFile::create(folder + "/" + file));
  const std::int64_t rows_per_block = std::max<std::int64_t>(1, kBlockElements / embedding.columns);
  std::mutex mutex;
  Status first_error;
  threads.parallel_for(embedding.rows, rows_per_block, [&](std::int64_t begin, std::int64_t end) {
    {
      std::lock_guard lock(mutex);
      if (!first_error.ok()) return;
    }
    const std::int64_t count = (end - begin) * embedding.columns;
    std::vector<float> values(static_cast<std::size_t>(count));
    read_floats(weight, begin * embedding.columns, values);
    Tensor block(dtype, {count});
    store_floats(values, block.mutable_view());
    Status status;
    for (std::size_t i = 0; i < values.size() && status.ok(); ++i)
      if (!std::isfinite(values[i]) ||
          (dtype == DType::kFp16 && std::abs(values[i]) > kLargestHalf))
        status = unsupported("[{}] expected values that {} can hold, got {} in row {}", weight.name,
                             dtype_name(dtype), values[i],
                             begin + static_cast<std::int64_t>(i) / embedding.columns);
    const std::uint64_t row_bytes =
        dtype_bytes(dtype, static_cast<std::uint64_t>(embedding.columns));
    if (status.ok())
      status = out.write_at(static_cast<std::uint64_t>(begin) * row_bytes, block.view().bytes());
    // Give the source pages back as we go: the whole table may be larger than the memory bound.
    const std::size_t element =
        weight.bytes.size() / static_cast<std::size_t>(embedding.rows * embedding.columns);
    weight.file->release(
        weight.bytes.subspan(static_cast<std::size_t>(begin * embedding.columns) * element,
                             static_cast<std::size_t>(count) * element));
    std::lock_guard lock(mutex);
    if (!status.ok() && first_error.ok()) first_error = status;
    advance(static_cast<std::uint64_t>(end - begin) * row_bytes);
  });
  if (!first_error.ok()) return first_error;
  ANEMONE_RETURN_IF_ERROR(out.commit());
  return embedding;
}

}  // namespace anemone::compiler
