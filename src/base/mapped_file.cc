// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <mutex>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/huge_pages.h"
#include "base/opened_files.h"

namespace anemone {

namespace {

std::mutex files_mutex;
std::set<const MappedFile*>& files_in_use() {
  static auto* const files = new std::set<const MappedFile*>;  // outlives every static file
  return *files;
}

}  // namespace

Result<OpenFile> open_regular_file(const std::string& path) {
  OpenFile out;
  // O_NONBLOCK: opening a FIFO without a writer must not hang; it is refused by the check below.
  out.descriptor = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!out.descriptor.is_open()) return errno_error(path, "open");
  struct stat info {};
  if (::fstat(out.descriptor.get(), &info) != 0) return errno_error(path, "stat");
  if (!S_ISREG(info.st_mode))
    return io_error("[{}] expected a regular file, got a {}", path,
                    S_ISDIR(info.st_mode) ? "directory" : "special file");
  out.size = static_cast<std::size_t>(info.st_size);
  ANEMONE_RETURN_IF_ERROR(OpenedFiles::note(out.descriptor, path));
  return out;
}

Status read_whole(const OpenFile& file, const std::string& path, std::byte* out) {
  for (std::size_t done = 0; done < file.size;) {
    const ssize_t count = ::read(file.descriptor.get(), out + done, file.size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error(path, "read");
    if (count == 0)
      return io_error("[{}] expected {} bytes, got {}: the file was cut short while it was read",
                      path, file.size, done);
    done += static_cast<std::size_t>(count);
  }
  return {};
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  ANEMONE_ASSIGN_OR_RETURN(OpenFile file, open_regular_file(path));
  const std::byte* data = nullptr;
  if (file.size > 0) {
    void* mapping = ::mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, file.descriptor.get(), 0);
    if (mapping == MAP_FAILED) return errno_error(path, "map");
    data = static_cast<const std::byte*>(mapping);
    // What is not in the page cache yet then comes in large pages where the file system has them.
    prefer_huge_pages(mapping, file.size);
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, std::move(file), data));
}

MappedFile::MappedFile(std::string path, OpenFile file, const std::byte* data)
    : path_(std::move(path)), file_(std::move(file.descriptor)), data_(data), size_(file.size) {
  if (data_ != nullptr) range_.emplace(bytes());
  const std::lock_guard guard(files_mutex);
  files_in_use().insert(this);
}

MappedFile::~MappedFile() {
  {
    const std::lock_guard guard(files_mutex);
    files_in_use().erase(this);
  }
  range_.reset();
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

Status MappedFile::check() const {
  if (!range_) return {};
  if (!range_->is_cut()) {
    // A file that became shorter reads as zeros on the last page that is left, without any signal.
    struct stat now {};
    if (::fstat(file_.get(), &now) != 0) return errno_error(path_, "stat");
    if (static_cast<std::size_t>(now.st_size) >= size_) return {};
  }
  return io_error("[{}] expected {} bytes, got fewer: the file was cut short while it was in use",
                  path_, size_);
}

Status check_mapped_files() {
  const std::lock_guard guard(files_mutex);
  for (const MappedFile* file : files_in_use()) ANEMONE_RETURN_IF_ERROR(file->check());
  return {};
}

void MappedFile::release(std::span<const std::byte> part) const {
  if (part.empty()) return;
  ANEMONE_DCHECK(part.data() >= data_ && part.data() + part.size() <= data_ + size_);
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  // Gives back only whole pages: the neighbours on a shared page may still be wanted.
  const auto begin = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(part.data() + part.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace anemone
