// SPDX-License-Identifier: Apache-2.0
#include "base/file_hashes.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <unistd.h>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mapped_file.h"

namespace anemone {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPart = 16 << 20;
// What one thread holds at a time. Files are read, not mapped: one that shrinks meanwhile is a
// short read and not a signal.
constexpr std::size_t kBuffer = 1 << 20;
constexpr std::size_t kHashDigits = 64;
constexpr std::size_t kNameDigits = 32;
constexpr std::uint64_t kMaxEntryBytes = 4096;

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// "" when the part cannot be read to its end.
std::string hash_part(int file, std::uint64_t offset, std::uint64_t bytes) {
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kBuffer)));
  Digest hash;
  while (bytes > 0) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, buffer.size()));
    const ssize_t count = ::pread(file, buffer.data(), wanted, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return "";
    hash.update(std::span(buffer).first(static_cast<std::size_t>(count)));
    offset += static_cast<std::uint64_t>(count);
    bytes -= static_cast<std::uint64_t>(count);
  }
  return hash.hex();
}

// The name under which the hash of a file is remembered, by the text of its identity.
std::string name_of(std::string_view identity) {
  Digest name;
  name.update(identity);
  return name.hex().substr(0, kNameDigits);
}

std::string place_of(const std::string& folder, const FileIdentity& file) {
  return folder + "/" + name_of(file.text());
}

// Whether FileHashes wrote FOLDER/NAME: the name of an entry is the hash of its first line.
bool is_ours(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error))) return false;
  const auto text = read_file(path, kMaxEntryBytes);
  if (!text.ok()) return false;
  // A killed process may leave a temporary file that is whole, cut, or empty; an empty one is known
  // by its name alone.
  const std::string_view whole = without_temporary_suffix(name);
  if (whole.size() != name.size() && text->empty()) return is_hex(whole, kNameDigits);
  return text->find('\n') != std::string::npos &&
         name_of(std::string_view(*text).substr(0, text->find('\n'))) == whole;
}

std::optional<std::string> remembered(const std::string& folder, const FileIdentity& file) {
  const auto text = read_file(place_of(folder, file), kMaxEntryBytes);
  const std::string first_line = file.text() + "\n";
  if (!text.ok() || text->size() != first_line.size() + kHashDigits + 1 ||
      !text->starts_with(first_line) || !text->ends_with('\n'))
    return std::nullopt;
  std::string hash = text->substr(first_line.size(), kHashDigits);
  if (!is_hex(hash, kHashDigits)) return std::nullopt;
  return hash;
}

Status changed(const FileIdentity& file) {
  return io_error("[{}] the file changed while it was being read", file.path);
}

}  // namespace

Result<std::string> FileHashes::of(const FileIdentity& file, bool reads_again) {
  if (!folder_.empty() && !reads_again && file.shows_changes)
    if (auto hash = remembered(folder_, file)) return *hash;
  // Waits before it reads, so that a write during the read changes the file's times.
  const bool is_settled = wait_until_settled(std::span(&file, 1));
  ANEMONE_ASSIGN_OR_RETURN(std::string hash, read(file));
  ANEMONE_ASSIGN_OR_RETURN(const FileIdentity now, FileIdentity::of(file.path));
  if (now.text() != file.text()) return changed(file);
  if (folder_.empty() || !is_settled) return hash;
  // A hash that cannot be stored costs time in the next run and nothing else.
  const Status status =
      write_file(place_of(folder_, file), fmt::format("{}\n{}\n", file.text(), hash));
  if (!status.ok()) ANEMONE_WARN("{}", status.message());
  return hash;
}

bool FileHashes::remembers(const FileIdentity& file) const {
  return !folder_.empty() && remembered(folder_, file).has_value();
}

void FileHashes::forget(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    names.push_back(it->path().filename().string());
  for (const std::string& name : names)
    if (is_ours(folder, name)) fs::remove(folder + "/" + name, error);
}

Result<std::string> FileHashes::read(const FileIdentity& file) {
  ANEMONE_ASSIGN_OR_RETURN(const OpenFile opened, open_regular_file(file.path));
  // Another file may have taken the path since the identity was taken.
  ANEMONE_ASSIGN_OR_RETURN(const FileIdentity read, FileIdentity::of(opened.descriptor, file.path));
  if (read.text() != file.text()) return changed(file);
  const std::uint64_t count = (file.bytes + kPart - 1) / kPart;
  std::vector<std::string> parts(static_cast<std::size_t>(count));
  threads_.parallel_for(
      static_cast<std::int64_t>(count), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::uint64_t offset = static_cast<std::uint64_t>(i) * kPart;
          parts[static_cast<std::size_t>(i)] =
              hash_part(opened.descriptor.get(), offset, std::min(kPart, file.bytes - offset));
        }
      });
  Digest hash;
  for (const std::string& part : parts) {
    if (part.empty()) return io_error("[{}] expected {} bytes, got fewer", file.path, file.bytes);
    hash.update(part);
  }
  return hash.hex();
}

}  // namespace anemone
