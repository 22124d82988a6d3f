// SPDX-License-Identifier: Apache-2.0
#include "base/file_identity.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <sys/stat.h>
#include <thread>

#ifdef __linux__
#include <linux/magic.h>
#include <sys/vfs.h>
#endif

#include "base/error.h"

namespace anemone {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * kSecond + time.tv_nsec;
}

// The time (ns since 1970) from which on a further change would show in ctime.
std::int64_t settled_at(const FileIdentity& file) {
  const bool has_fractions = file.changed_ns % kSecond != 0;
  return file.changed_ns + (has_fractions ? kSecond / 50 : 2 * kSecond);
}

Result<FileIdentity> identity_of(const struct stat& info, const std::string& path) {
  if (!S_ISREG(info.st_mode)) return io_error("[{}] expected a regular file", path);
  FileIdentity out;
  out.path = path;
  out.device = static_cast<std::uint64_t>(info.st_dev);
  out.inode = static_cast<std::uint64_t>(info.st_ino);
  out.bytes = static_cast<std::uint64_t>(info.st_size);
#ifdef __APPLE__
  out.modified_ns = nanoseconds(info.st_mtimespec);
  out.changed_ns = nanoseconds(info.st_ctimespec);
#else
  out.modified_ns = nanoseconds(info.st_mtim);
  out.changed_ns = nanoseconds(info.st_ctim);
#endif
  return out;
}

#ifdef __linux__
// By what statfs gave for the file; one that cannot be asked counts as in memory.
bool is_in_memory(int result, const struct statfs& system) {
  if (result != 0) return true;
  const auto type = static_cast<std::uint32_t>(system.f_type);
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC;
}
bool is_in_memory(const std::string& path) {
  struct statfs system {};
  return is_in_memory(::statfs(path.c_str(), &system), system);
}
bool is_in_memory(const Descriptor& file) {
  struct statfs system {};
  return is_in_memory(::fstatfs(file.get(), &system), system);
}
#else
bool is_in_memory(const std::string& /*path*/) {
  return false;
}
bool is_in_memory(const Descriptor& /*file*/) {
  return false;
}
#endif

}  // namespace

Result<FileIdentity> FileIdentity::of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return errno_error(path, "open");
  ANEMONE_ASSIGN_OR_RETURN(FileIdentity out, identity_of(info, path));
  out.shows_changes = !is_in_memory(path);
  return out;
}

Result<FileIdentity> FileIdentity::of(const Descriptor& file, const std::string& path) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return errno_error(path, "stat");
  ANEMONE_ASSIGN_OR_RETURN(FileIdentity out, identity_of(info, path));
  out.shows_changes = !is_in_memory(file);
  return out;
}

Result<std::vector<FileIdentity>> FileIdentity::of_all(std::span<const std::string> paths) {
  std::vector<FileIdentity> files;
  for (const std::string& path : paths) {
    ANEMONE_ASSIGN_OR_RETURN(FileIdentity file, of(path));
    files.push_back(std::move(file));
  }
  return files;
}

std::string FileIdentity::text() const {
  return fmt::format("{} {} {} {} {}", device, inode, bytes, modified_ns, changed_ns);
}

std::string text_of(std::span<const FileIdentity> files) {
  std::string text;
  for (const FileIdentity& file : files) text += file.text() + " " + file.path + "\n";
  return text;
}

bool wait_until_settled(std::span<const FileIdentity> files) {
  const bool shows_changes = std::ranges::all_of(files, &FileIdentity::shows_changes);
  std::int64_t settled = 0;
  for (const FileIdentity& file : files) settled = std::max(settled, settled_at(file));
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  if (settled <= now) return shows_changes;
  if (settled - now > 2 * kSecond) return false;
  std::this_thread::sleep_for(std::chrono::nanoseconds(settled - now));
  return shows_changes;
}

}  // namespace anemone
