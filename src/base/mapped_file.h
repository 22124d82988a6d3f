// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/descriptor.h"
#include "base/mapped_range.h"

namespace anemone {

// A regular file that is open for reading, and its size at that moment.
struct OpenFile {
  Descriptor descriptor;
  std::size_t size = 0;
};

// kIo when the path cannot be opened or is not a regular file (a FIFO or device would block or
// grow).
Result<OpenFile> open_regular_file(const std::string& path);
// Reads all of the file, from where it is open, into `file.size` bytes. kIo when it cannot be read
// or became shorter.
Status read_whole(const OpenFile& file, const std::string& path, std::byte* out);

// A whole regular file mapped read-only. Views of bytes() live as long as the MappedFile; readers
// that hand out views keep the shared_ptr beside them. Thread-safe after open.
//
// Another process may shorten the file meanwhile. The bytes that it no longer has then read as
// zeros, and check() fails from then on: code that computes something from bytes() calls check()
// before it hands out the result. A small file is better read into memory (read_file). A file that
// is overwritten in place with as many bytes is not noticed: its bytes may change between two
// reads, so a value that must not change after it was checked is copied first.
class MappedFile {
 public:
  // kIo as open_regular_file(). An empty file maps to an empty span.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

  // kIo once the file was found shorter than it was when it was opened. A file that was removed or
  // replaced by another of its name is still whole here. Costs a system call, fstat.
  Status check() const;

  // Tells the kernel that this part will not be read again soon. Pages that were read count as
  // memory of this process, so a reader that goes through a large file once calls this for each
  // part that it is done with. `part` must lie in bytes(), and can still be read.
  void release(std::span<const std::byte> part) const;

 private:
  MappedFile(std::string path, OpenFile file, const std::byte* data);
  std::string path_;
  Descriptor file_;  // stays open: another file may take its name
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::optional<MappedRange> range_;  // absent for an empty file
};

// Calls check() of every file that is mapped in this process. A compilation, which maps files in
// many places, calls it at its end.
Status check_mapped_files();

}  // namespace anemone
