// SPDX-License-Identifier: Apache-2.0
#include "base/file_hashes.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <unistd.h>
#include <vector>

#include "base/descriptor.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

namespace anemone {
namespace {

constexpr std::uint64_t kPart = 16 << 20;
// What one thread holds at a time. Files are read, not mapped: one that shrinks meanwhile is a
// short read and not a signal.
constexpr std::size_t kBuffer = 1 << 20;
constexpr std::size_t kHashDigits = 64;

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

// Where the hash of a file is remembered.
std::string place_of(const std::string& folder, const FileIdentity& file) {
  Digest name;
  name.update(file.text());
  return folder + "/" + name.hex().substr(0, 32);
}

std::optional<std::string> remembered(const std::string& folder, const FileIdentity& file) {
  constexpr std::uint64_t kMaxBytes = 4096;
  const auto text = read_file(place_of(folder, file), kMaxBytes);
  const std::string first_line = file.text() + "\n";
  if (!text.ok() || text->size() != first_line.size() + kHashDigits + 1 ||
      !text->starts_with(first_line) || !text->ends_with('\n'))
    return std::nullopt;
  std::string hash = text->substr(first_line.size(), kHashDigits);
  if (hash.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
  return hash;
}

}  // namespace

Result<std::string> FileHashes::of(const FileIdentity& file, bool reads_again) {
  if (!folder_.empty() && !reads_again)
    if (auto hash = remembered(folder_, file)) return *hash;
  // First, so that whatever is written to the file while it is read shows.
  const bool is_settled = wait_until_settled(std::span(&file, 1));
  ANEMONE_ASSIGN_OR_RETURN(std::string hash, read(file));
  ANEMONE_ASSIGN_OR_RETURN(const FileIdentity now, FileIdentity::of(file.path));
  if (now.text() != file.text())
    return io_error("[{}] expected a file that nobody writes to, got one that changed", file.path);
  if (folder_.empty() || !is_settled) return hash;
  // To remember it spares time and no more.
  const Status status =
      write_file(place_of(folder_, file), fmt::format("{}\n{}\n", file.text(), hash));
  if (!status.ok()) ANEMONE_WARN("{}", status.message());
  return hash;
}

Result<std::string> FileHashes::read(const FileIdentity& file) {
  const Descriptor opened(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!opened.is_open()) return errno_error(file.path, "open");
  const std::uint64_t count = (file.bytes + kPart - 1) / kPart;
  std::vector<std::string> parts(static_cast<std::size_t>(count));
  threads_.parallel_for(
      static_cast<std::int64_t>(count), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::uint64_t offset = static_cast<std::uint64_t>(i) * kPart;
          parts[static_cast<std::size_t>(i)] =
              hash_part(opened.get(), offset, std::min(kPart, file.bytes - offset));
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
