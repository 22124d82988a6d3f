// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/huge_pages.h"

namespace anemone {

// The bytes of a regular file in memory of this process, in huge pages: they are read faster than
// those of a MappedFile, nothing that becomes of the file changes them, and no other process shares
// them. Immutable; views of bytes() live as long as it.
class FileCopy {
 public:
  // kIo as open_regular_file(), and where the file ends before its size. kOutOfMemory where all
  // copies of this process together would take more than three quarters of the memory that it may
  // use.
  static Result<std::shared_ptr<const FileCopy>> read(const std::string& path);
  ~FileCopy();
  FileCopy(const FileCopy&) = delete;
  FileCopy& operator=(const FileCopy&) = delete;

  std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }

 private:
  // Counts its bytes, which take_memory() of file_copy.cc has admitted.
  explicit FileCopy(std::size_t size) : size_(size) {}

  const std::size_t size_;
  HugePages memory_;
};

}  // namespace anemone
