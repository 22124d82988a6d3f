// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

#include "base/check.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/path.h"

namespace anemone {
namespace {

constexpr std::string_view kTemporary = ".tmp.";
constexpr std::string_view kSuffixLetters = "abcdefghijklmnopqrstuvwxyz234567";
constexpr std::size_t kSuffixSize = 12;

Status write_fully(int fd, const std::string& path, std::span<const std::byte> bytes,
                   std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (wrote < 0) {
      if (errno == EINTR) continue;
      return errno_error(path, "write");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
    offset += static_cast<std::uint64_t>(wrote);
  }
  return {};
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::uint64_t max_bytes) {
  ANEMONE_ASSIGN_OR_RETURN(const OpenFile file, open_regular_file(path));
  if (file.size > max_bytes)
    return corrupt("[{}] expected at most {} bytes, got {}", path, max_bytes, file.size);
  std::string out(file.size, '\0');
  ANEMONE_RETURN_IF_ERROR(read_whole(file, path, std::as_writable_bytes(std::span(out)).data()));
  return out;
}

std::string random_suffix() {
  std::random_device random;
  std::string text;
  while (text.size() < kSuffixSize) text += kSuffixLetters[random() % kSuffixLetters.size()];
  return text;
}

std::string_view without_temporary_suffix(std::string_view path) {
  if (path.size() <= kTemporary.size() + kSuffixSize) return path;
  const std::string_view suffix = path.substr(path.size() - kSuffixSize);
  const std::string_view rest = path.substr(0, path.size() - kSuffixSize);
  if (suffix.find_first_not_of(kSuffixLetters) != std::string_view::npos ||
      !rest.ends_with(kTemporary))
    return path;
  return rest.substr(0, rest.size() - kTemporary.size());
}

int sync_to_disk(int descriptor) {
  static const bool is_off = environment_variable("ANEMONE_FSYNC").value_or("") == "off";
  return is_off ? 0 : ::fsync(descriptor);
}

Status check_can_be_replaced(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return {};
  // A link is refused, since it does not say whether the user means the link or its target. A
  // device is refused, too: for a user with the right to do so, the rename would put a regular file
  // in the place of /dev/null.
  return io_error("[{}] expected a regular file or a new name to write, got a {}", path,
                  S_ISLNK(info.st_mode)   ? "link"
                  : S_ISDIR(info.st_mode) ? "folder"
                                          : "device or pipe");
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  ANEMONE_RETURN_IF_ERROR(check_can_be_replaced(path));
  // O_EXCL: two writers never share a temporary file, and a link that lies in wait is not followed.
  // Nobody else can know the name.
  constexpr int kMaxAttempts = 100;
  for (int attempt = 0;; ++attempt) {
    std::string temporary = path + std::string(kTemporary) + random_suffix();
    Descriptor file(::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (file.is_open()) return AtomicFile(path, std::move(temporary), std::move(file));
    if (errno != EEXIST || attempt == kMaxAttempts)
      return errno_error(path, "create a temporary file beside it");
  }
}

AtomicFile::AtomicFile(std::string path, std::string temporary, Descriptor file)
    : path_(std::move(path)), temporary_(std::move(temporary)), file_(std::move(file)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)),
      size_(other.size_) {}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status AtomicFile::append(std::span<const std::byte> bytes) {
  ANEMONE_RETURN_IF_ERROR(write_fully(file_.get(), path_, bytes, size_));
  size_ += bytes.size();
  return {};
}

Status AtomicFile::append(std::string_view text) {
  return append(std::as_bytes(std::span(text)));
}

Status AtomicFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  return write_fully(file_.get(), path_, bytes, offset);
}

Status AtomicFile::flush() {
  ANEMONE_CHECK(file_.is_open());
  const int fd = file_.release();
  // Close reports delayed write errors of network file systems; fsync those of a full disk.
  Status status;
  if (sync_to_disk(fd) != 0 && errno != EINVAL) status = errno_error(path_, "flush");
  if (::close(fd) != 0 && status.ok()) status = errno_error(path_, "close");
  return status;
}

Status AtomicFile::rename() {
  const std::string temporary = std::exchange(temporary_, {});
  if (::rename(temporary.c_str(), path_.c_str()) == 0) return {};
  Status status = errno_error(path_, "rename into place");
  ::unlink(temporary.c_str());
  return status;
}

Status AtomicFile::commit() {
  return commit_all(std::span(this, 1));
}

Status AtomicFile::commit_all(std::span<AtomicFile> files) {
  Status status;
  for (AtomicFile& file : files)
    if (Status flushed = file.flush(); status.ok()) status = std::move(flushed);
  std::size_t renamed = 0;
  for (; status.ok() && renamed < files.size(); ++renamed) status = files[renamed].rename();
  if (status.ok()) return {};
  for (AtomicFile& file : files)
    if (const std::string temporary = std::exchange(file.temporary_, {}); !temporary.empty())
      ::unlink(temporary.c_str());
  // The rename of the last one of them failed.
  for (std::size_t i = 0; i + 1 < renamed; ++i) ::unlink(files[i].path_.c_str());
  return status;
}

Status write_file(const std::string& path, std::string_view text) {
  ANEMONE_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  ANEMONE_RETURN_IF_ERROR(file.append(text));
  return file.commit();
}

Status make_directories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return io_error("[{}] cannot create the folder: {}", path, error.message());
  return {};
}

Result<std::uint64_t> free_disk_bytes(const std::string& path) {
  std::error_code error;
  std::filesystem::path place = absolute_path(path);
  while (!std::filesystem::exists(place, error) && place.has_parent_path() &&
         place != place.parent_path())
    place = place.parent_path();
  struct statvfs info {};
  if (::statvfs(place.c_str(), &info) != 0) return errno_error(path, "read the free space of");
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

std::uint64_t folder_bytes(const std::string& folder) {
  std::uint64_t bytes = 0;
  std::error_code error;
  using Walk = std::filesystem::recursive_directory_iterator;
  Walk it(folder, std::filesystem::directory_options::skip_permission_denied, error);
  for (const Walk end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    if (const auto size = it->file_size(ignored); !ignored) bytes += size;
  }
  return bytes;
}

}  // namespace anemone
