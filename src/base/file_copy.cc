// SPDX-License-Identifier: Apache-2.0
#include "base/file_copy.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/error.h"
#include "base/machine.h"
#include "base/mapped_file.h"

namespace anemone {
namespace {

// How many bytes the copies of all files take together.
std::atomic<std::uint64_t> copied_bytes = 0;

Status take_memory(std::uint64_t size, const std::string& path) {
  const std::uint64_t most = usable_memory_bytes() / 4 * 3;
  std::uint64_t taken = copied_bytes.load();
  do {
    if (size > most - std::min(taken, most))
      return out_of_memory(
          "[{}] not enough memory: the file has {} bytes, and copies may take {} more", path, size,
          most - std::min(taken, most));
  } while (!copied_bytes.compare_exchange_weak(taken, taken + size));
  return {};
}

}  // namespace

Result<std::shared_ptr<const FileCopy>> FileCopy::read(const std::string& path) {
  ANEMONE_ASSIGN_OR_RETURN(const OpenFile file, open_regular_file(path));
  ANEMONE_RETURN_IF_ERROR(take_memory(file.size, path));
  const std::shared_ptr<FileCopy> out(new FileCopy(file.size));
  out->memory_ = allocate_huge_pages(file.size);
  if (out->memory_ == nullptr)
    return out_of_memory("[{}] not enough memory: the file has {} bytes", path, file.size);
  ANEMONE_RETURN_IF_ERROR(read_whole(file, path, out->memory_.get()));
  return std::shared_ptr<const FileCopy>(out);
}

FileCopy::~FileCopy() {
  copied_bytes -= size_;
}

}  // namespace anemone
