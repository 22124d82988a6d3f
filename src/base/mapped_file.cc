// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <limits>
#include <mutex>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/machine.h"
#include "base/opened_files.h"

namespace anemone {

namespace {

std::mutex files_mutex;
std::set<const MappedFile*>& files_in_use() {
  static auto* const files = new std::set<const MappedFile*>;  // outlives every static file
  return *files;
}

// Of all files that were read into memory, together.
std::atomic<std::uint64_t> copied_bytes = 0;

// `size` bytes of new memory that begin where a huge page begins; nullptr where there are not so
// many.
std::byte* map_huge_pages(std::size_t size) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  if (size > std::numeric_limits<std::size_t>::max() - kHugePage) return nullptr;
  void* const mapping =
      ::mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(mapping);
  const std::size_t before = (kHugePage - begin % kHugePage) % kHugePage;
  const std::size_t whole = (size + page - 1) / page * page;
  std::byte* const out = static_cast<std::byte*>(mapping) + before;
  // What lies around it would stay mapped for ever.
  if (before > 0) ::munmap(mapping, before);
  const std::size_t end = (size + kHugePage + page - 1) / page * page;
  if (before + whole < end) ::munmap(out + whole, end - before - whole);
#ifdef MADV_HUGEPAGE
  ::madvise(out, whole, MADV_HUGEPAGE);  // a hint: a system without huge pages refuses it
#endif
  return out;
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

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  ANEMONE_ASSIGN_OR_RETURN(OpenFile file, open_regular_file(path));
  const std::byte* data = nullptr;
  if (file.size > 0) {
    void* mapping = ::mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, file.descriptor.get(), 0);
    if (mapping == MAP_FAILED) return errno_error(path, "map");
    data = static_cast<const std::byte*>(mapping);
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, std::move(file), data, /*is_copy=*/false));
}

Result<std::shared_ptr<const MappedFile>> MappedFile::read(const std::string& path) {
  ANEMONE_ASSIGN_OR_RETURN(OpenFile file, open_regular_file(path));
  const std::size_t size = file.size;
  if (size == 0) return open(path);
  const std::uint64_t most = usable_memory_bytes() / 4 * 3;
  std::uint64_t taken = copied_bytes.load();
  do {
    if (size > most - std::min(taken, most))
      return out_of_memory("[{}] not enough memory: the copies of files would take {} of {} bytes",
                           path, taken + size, most);
  } while (!copied_bytes.compare_exchange_weak(taken, taken + size));
  std::byte* const data = map_huge_pages(size);
  if (data == nullptr) {
    copied_bytes -= size;
    return out_of_memory("[{}] not enough memory: the file has {} bytes", path, size);
  }
  const int descriptor = file.descriptor.get();
  // Its destructor gives the memory back.
  const std::shared_ptr<const MappedFile> out(
      new MappedFile(path, std::move(file), data, /*is_copy=*/true));
  for (std::size_t done = 0; done < size;) {
    const ssize_t count = ::pread(descriptor, data + done, size - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error(path, "read");
    if (count == 0) return io_error("[{}] expected {} bytes, got {}", path, size, done);
    done += static_cast<std::size_t>(count);
  }
  ::mprotect(data, size, PROT_READ);
  return out;
}

MappedFile::MappedFile(std::string path, OpenFile file, const std::byte* data, bool is_copy)
    : path_(std::move(path)), file_(std::move(file.descriptor)), data_(data), size_(file.size) {
  if (data_ != nullptr && !is_copy) range_.emplace(bytes());
  const std::lock_guard guard(files_mutex);
  files_in_use().insert(this);
}

MappedFile::~MappedFile() {
  {
    const std::lock_guard guard(files_mutex);
    files_in_use().erase(this);
  }
  if (data_ != nullptr && !range_) copied_bytes -= size_;
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
  if (part.empty() || !range_) return;
  ANEMONE_DCHECK(part.data() >= data_ && part.data() + part.size() <= data_ + size_);
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  // Gives back only whole pages: the neighbours on a shared page may still be wanted.
  const auto begin = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(part.data() + part.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace anemone
