// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/descriptor.h"
#include "base/error.h"

namespace anemone {

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO without a writer must not hang; it is refused by the check below.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return errno_error(path, "open");
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return errno_error(path, "stat");
  if (!S_ISREG(info.st_mode))
    return io_error("[{}] expected a regular file, got a {}", path,
                    S_ISDIR(info.st_mode) ? "directory" : "special file");
  const auto size = static_cast<std::size_t>(info.st_size);
  const std::byte* data = nullptr;
  if (size > 0) {
    void* mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (mapping == MAP_FAILED) return errno_error(path, "map");
    data = static_cast<const std::byte*>(mapping);
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, data, size));
}

MappedFile::MappedFile(std::string path, const std::byte* data, std::size_t size)
    : path_(std::move(path)), data_(data), size_(size) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release(std::span<const std::byte> part) const {
  if (part.empty()) return;
  ANEMONE_DCHECK(part.data() >= data_ && part.data() + part.size() <= data_ + size_);
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  // Only whole pages: the neighbours on a shared page may still be wanted.
  const auto begin = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(part.data() + part.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace anemone
