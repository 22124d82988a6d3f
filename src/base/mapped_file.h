// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace anemone {

// A whole regular file mapped read-only. Views of bytes() live as long as the MappedFile; readers
// that hand out views keep the shared_ptr beside them. Thread-safe after open.
class MappedFile {
 public:
  // kIo when the path cannot be opened or is not a regular file (a FIFO or device would block or
  // grow). An empty file maps to an empty span.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

  // Tells the kernel that this part will not be read again soon: touched file pages count as
  // resident, so a streaming reader gives each range back. `part` must lie in bytes(); contents
  // stay readable.
  void release(std::span<const std::byte> part) const;

 private:
  MappedFile(std::string path, const std::byte* data, std::size_t size);
  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace anemone
