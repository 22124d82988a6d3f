// SPDX-License-Identifier: Apache-2.0
#include "hub/blob_check.h"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"
#include "base/file_identity.h"
#include "hub/content_hash.h"

namespace anemone::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxEntries = 100'000;

// The record of this user about a blob; empty if there is none to trust. In a cache that several
// users share, another user could have written anything.
std::string known_of(const HubCache& cache, const std::string& etag) {
  const std::string path = cache.verified(etag).string();
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid() ||
      (info.st_mode & 022) != 0)
    return {};
  return read_file(path, 1024).value_or(std::string());
}

// Records that a blob is right. If the cache cannot be written to, blobs are hashed each time.
void write_down(const HubCache& cache, const std::string& etag, const FileIdentity& file) {
  if (make_directories(cache.verified(etag).parent_path().string()).ok())
    (void)write_file(cache.verified(etag).string(), file.text() + "\n");
}

Result<std::string> hash_of(const Descriptor& file, const std::string& path,
                            const RemoteFile& named, const Checked& checked) {
  Digest hash = content_hash(named);
  std::vector<std::byte> block(1 << 20);
  while (true) {
    const ssize_t count = ::read(file.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error(path, "read");
    if (count == 0) return hash.hex();
    hash.update({block.data(), static_cast<std::size_t>(count)});
    if (checked) checked(static_cast<std::uint64_t>(count));
  }
}

// The name of the blob behind a link of the snapshot; empty for a link that leads elsewhere.
std::string blob_behind(const HubCache& cache, const fs::path& link) {
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  if (error) return {};
  const fs::path folder = (link.parent_path() / target).parent_path();
  const bool is_blob = fs::equivalent(folder, cache.blob("").parent_path(), error) && !error;
  return is_blob ? target.filename().string() : std::string();
}

}  // namespace

Result<BlobState> check_blob(const HubCache& cache, const std::string& etag,
                             const Checked& checked) {
  const std::string path = cache.blob(etag).string();
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.is_open() && errno == ENOENT) return BlobState::kAbsent;
  if (!file.is_open() && errno == ELOOP) return BlobState::kWrong;
  if (!file.is_open()) return errno_error(path, "open");
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return errno_error(path, "stat");
  if (!S_ISREG(info.st_mode)) return BlobState::kWrong;
  const bool is_sha256 = is_hash(etag, 64);
  const auto size = static_cast<std::uint64_t>(info.st_size);
  ANEMONE_ASSIGN_OR_RETURN(const FileIdentity identity, FileIdentity::of(file, path));
  const bool is_known = identity.shows_changes && known_of(cache, etag) == identity.text() + "\n";
  if (is_known || (!is_sha256 && !is_hash(etag, 40))) {
    if (checked) checked(size);
    return BlobState::kRight;
  }
  // First, so that whatever is written to it while it is read shows.
  const bool is_settled = wait_until_settled(std::span(&identity, 1));
  RemoteFile named;
  named.size = size;
  named.is_large = is_sha256;
  ANEMONE_ASSIGN_OR_RETURN(const std::string hash, hash_of(file, path, named, checked));
  if (hash != etag) return BlobState::kWrong;
  ANEMONE_ASSIGN_OR_RETURN(const FileIdentity after, FileIdentity::of(file, path));
  if (after.text() != identity.text()) return BlobState::kWrong;
  if (is_settled) write_down(cache, etag, identity);
  return BlobState::kRight;
}

void remember_blob(const HubCache& cache, const std::string& etag) {
  const std::string path = cache.blob(etag).string();
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.is_open()) return;
  const auto identity = FileIdentity::of(file, path);
  if (identity.ok() && identity->shows_changes) write_down(cache, etag, *identity);
}

Status check_snapshot(const HubCache& cache, const std::string& folder,
                      const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  struct Link {
    fs::path path;
    std::string etag;
  };
  std::vector<Link> links;
  std::uint64_t total = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (links.size() == kMaxEntries)
      return corrupt("[{}] expected at most {} files, got more", folder, kMaxEntries);
    std::error_code ignored;
    if (!it->is_symlink(ignored)) continue;
    std::string etag = blob_behind(cache, it->path());
    if (etag.empty())
      return corrupt(
          "[{}] expected a link to a content of this cache, got one that leads elsewhere",
          it->path().string());
    const auto size = fs::file_size(cache.blob(etag), ignored);
    if (!ignored) total += size;
    links.push_back({it->path(), std::move(etag)});
  }
  if (error) return io_error("[{}] cannot list: {}", folder, error.message());
  std::uint64_t done = 0;
  for (const Link& link : links) {
    const Checked checked = [&](std::uint64_t bytes) {
      done += bytes;
      if (progress) progress(std::min(done, total), total);
    };
    ANEMONE_ASSIGN_OR_RETURN(const BlobState state, check_blob(cache, link.etag, checked));
    if (state == BlobState::kWrong)
      return corrupt(
          "[{}] expected content with the hash {}, got another one (anemone pull downloads it "
          "again)",
          link.path.string(), link.etag);
  }
  return {};
}

}  // namespace anemone::hub
