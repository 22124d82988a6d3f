// SPDX-License-Identifier: Apache-2.0
// Whole-file reads and all-or-nothing writes.
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace anemone {

// The whole of a regular file, in memory of its own; kIo when it cannot be read or becomes shorter
// meanwhile, kCorrupt above `max_bytes`.
Result<std::string> read_file(const std::string& path, std::uint64_t max_bytes = 64 << 20);

// Twelve letters and digits that nobody can foresee, for names of temporary files and folders.
std::string random_suffix();
// "PATH" of "PATH.tmp.<random_suffix()>", which a killed process may have left; any other path as
// it is.
std::string_view without_temporary_suffix(std::string_view path);

// fsync(): waits until what was written to the file is on the disk. Does nothing with
// ANEMONE_FSYNC=off, where no file has to outlive a crash of the machine, as in a container that
// builds and tests.
int sync_to_disk(int descriptor);

// Ok when there is nothing under the name, or a regular file. kIo for anything else: a folder, a
// device, a pipe, or a link, which is neither followed nor replaced.
Status check_can_be_replaced(const std::string& path);

// Writes a file under a temporary name ("PATH.tmp.<random>") in the same folder and renames it over
// `path` on commit(), where check_can_be_replaced() allows it. If it is destroyed without commit(),
// nothing is left. Single-thread, except write_at(), which any thread may call for ranges that do
// not overlap. After an error the object can only be destroyed.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Status append(std::span<const std::byte> bytes);
  Status append(std::string_view text);
  // Writes at an absolute offset without moving the append position; gaps read as zeros.
  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  std::uint64_t size() const { return size_; }

  // Flushes to the disk and renames. The object is spent afterwards, whatever the outcome.
  Status commit();
  // Commits several files, all or none: the first one is renamed when all of them are on the disk,
  // and if a rename fails, the files that were renamed before it are removed. All are spent
  // afterwards.
  static Status commit_all(std::span<AtomicFile> files);

 private:
  AtomicFile(std::string path, std::string temporary, Descriptor file);
  Status flush();
  Status rename();
  std::string path_;
  std::string temporary_;  // empty once there is no such file any more
  Descriptor file_;
  std::uint64_t size_ = 0;
};

Status write_file(const std::string& path, std::string_view text);
Status make_directories(const std::string& path);
// Bytes of all files below a folder; what cannot be read counts as nothing.
std::uint64_t folder_bytes(const std::string& folder);
// Free bytes for an unprivileged writer on the file system that holds `path` (or its nearest
// parent).
Result<std::uint64_t> free_disk_bytes(const std::string& path);

}  // namespace anemone
