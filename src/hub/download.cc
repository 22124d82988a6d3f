// SPDX-License-Identifier: Apache-2.0
#include "hub/download.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"
#include "hub/blob_check.h"
#include "hub/content_hash.h"
#include "hub/retry.h"

namespace anemone::hub {
namespace {

namespace fs = std::filesystem;

// Opens the lock file, but not through a link: it would be somebody else's file that is locked.
Descriptor open_lock(const fs::path& path) {
  return Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
}

Status lock(const Descriptor& file, const fs::path& path) {
  if (!file.is_open()) return errno_error(path.string(), "open");
  while (::flock(file.get(), LOCK_EX) != 0)
    if (errno != EINTR) return errno_error(path.string(), "lock");
  return {};
}

// The part of a content that is here, in a file of its own. Bytes go to its end. What is written
// stays when the object goes, for the next download to go on with.
class Partial {
 public:
  // Takes over the bytes that an earlier download left. Only one process at a time has the lock of
  // the content, so nobody else is writing there.
  Partial(const HubCache& cache, const RemoteFile& file)
      : path_(cache.new_incomplete(file.etag).string()), file_(file) {
    for (const fs::path& left : cache.incomplete(file.etag)) {
      std::error_code ignored;
      if (!descriptor_.is_open() && ::rename(left.c_str(), path_.c_str()) == 0)
        descriptor_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
      else
        fs::remove(left, ignored);
    }
    if (!descriptor_.is_open())
      descriptor_ = Descriptor(
          ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  }

  // Reads what an earlier download left.
  Status begin(const Received& received) {
    if (!descriptor_.is_open()) return errno_error(path_, "open");
    hash_ = content_hash(file_);
    std::vector<std::byte> block(1 << 20);
    while (true) {
      const ssize_t count = ::read(descriptor_.get(), block.data(), block.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return errno_error(path_, "read");
      if (count == 0) break;
      size_ += static_cast<std::uint64_t>(count);
      if (size_ > file_.size) break;
      hash_.update({block.data(), static_cast<std::size_t>(count)});
    }
    received(static_cast<std::int64_t>(std::min(size_, file_.size)));
    return size_ > file_.size ? restart(received) : Status();
  }

  Status restart(const Received& received) {
    received(-static_cast<std::int64_t>(std::min(size_, file_.size)));
    if (::ftruncate(descriptor_.get(), 0) != 0 || ::lseek(descriptor_.get(), 0, SEEK_SET) != 0)
      return errno_error(path_, "empty");
    size_ = 0;
    hash_ = content_hash(file_);
    return {};
  }

  Status append(std::span<const std::byte> bytes, const Received& received) {
    if (bytes.size() > file_.size - size_)
      return corrupt("[{}] expected {} bytes, got more", file_.path, file_.size);
    hash_.update(bytes);
    while (!bytes.empty()) {
      const ssize_t count = ::write(descriptor_.get(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return errno_error(path_, "write");
      size_ += static_cast<std::uint64_t>(count);
      received(count);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return {};
  }

  std::uint64_t size() const { return size_; }
  bool is_whole() const { return size_ == file_.size; }
  // Spends the hash: restart() follows if it is wrong.
  bool has_right_hash() { return hash_.hex() == file_.etag; }
  Status finish(const fs::path& blob) {
    if (sync_to_disk(descriptor_.get()) != 0) return errno_error(path_, "write");
    struct stat ours {};
    struct stat named {};
    if (::fstat(descriptor_.get(), &ours) != 0 || ::lstat(path_.c_str(), &named) != 0 ||
        ours.st_ino != named.st_ino || ours.st_dev != named.st_dev)
      return io_error("[{}] the file was replaced by another one while it was being written",
                      path_);
    if (::rename(path_.c_str(), blob.c_str()) != 0) return errno_error(path_, "rename");
    return {};
  }

 private:
  const std::string path_;
  const RemoteFile& file_;
  Descriptor descriptor_;
  Digest hash_;
  std::uint64_t size_ = 0;
};

// Bytes that a try must add to the most that was ever received to count as progress.
constexpr std::uint64_t kProgress = 16 << 10;

// The offset of "bytes 100-199/200".
std::optional<std::uint64_t> range_begin(const HttpAnswer& answer) {
  const auto range = answer.headers.find("content-range");
  if (range == answer.headers.end() || !range->second.starts_with("bytes ")) return std::nullopt;
  const char* begin = range->second.data() + 6;
  std::uint64_t out = 0;
  const auto [end, error] =
      std::from_chars(begin, range->second.data() + range->second.size(), out);
  if (error != std::errc() || end == begin) return std::nullopt;
  return out;
}

}  // namespace

Status download_file(HttpClient& client, const HubAddress& hub, const RepoName& repo,
                     const std::string& commit, const RemoteFile& file, const HubCache& cache,
                     const Received& received) {
  const fs::path lock_path = cache.lock(file.etag);
  const Descriptor lock_file = open_lock(lock_path);
  ANEMONE_RETURN_IF_ERROR(lock(lock_file, lock_path));
  const fs::path blob = cache.blob(file.etag);
  std::uint64_t checked = 0;
  ANEMONE_ASSIGN_OR_RETURN(const BlobState state,
                           check_blob(cache, file.etag, [&](std::uint64_t bytes) {
                             const auto more = std::min(bytes, file.size - checked);
                             checked += more;
                             received(static_cast<std::int64_t>(more));
                           }));
  if (state == BlobState::kRight) return {};
  received(-static_cast<std::int64_t>(checked));
  // A wrong content is worse than none, should the download fail.
  std::error_code ignored;
  if (state == BlobState::kWrong) fs::remove(blob, ignored);
  Partial partial(cache, file);
  ANEMONE_RETURN_IF_ERROR(partial.begin(received));
  Retry retry;
  bool was_wrong = false;
  std::uint64_t most = partial.size();  // that was ever here
  const std::string url = content_url(hub, repo, commit, file.path);
  while (true) {
    if (partial.is_whole()) {
      if (partial.has_right_hash()) {
        ANEMONE_RETURN_IF_ERROR(partial.finish(blob));
        remember_blob(cache, file.etag);
        return {};
      }
      ANEMONE_RETURN_IF_ERROR(partial.restart(received));
      if (was_wrong)
        return corrupt("[{}] was downloaded twice, but its contents do not have the hash {} ({})",
                       file.path, file.etag, repo.text());
      was_wrong = true;
      if (file.size == 0) continue;
    }
    const std::uint64_t before = partial.size();
    const auto answer = client.download(
        {url, hub.token, before},
        [&](const HttpAnswer& head) -> Status {
          // The whole instead of the rest, or another part than was asked for.
          if (head.status == 200 ? before > 0 : range_begin(head) != before)
            return partial.restart(received);
          return {};
        },
        [&](std::span<const std::byte> bytes) { return partial.append(bytes, received); });
    if (!answer.ok()) return answer.status();
    // Counted from the farthest point: a hub that lets us begin again and again gets us nowhere.
    if (partial.size() >= most + kProgress) retry.progress();
    most = std::max(most, partial.size());
    if (partial.is_whole()) continue;
    if (answer->is_whole() && answer->status == 416 && before > 0) {
      // There is nothing behind what is here, which is therefore not the beginning of this content.
      ANEMONE_RETURN_IF_ERROR(partial.restart(received));
      if (!retry.wait(*answer)) return refusal(hub, repo, file.path, *answer);
      continue;
    }
    const bool is_short = answer->is_whole() && (answer->status == 200 || answer->status == 206);
    if (!is_short && !answer->is_transient()) return refusal(hub, repo, file.path, *answer);
    if (!retry.wait(*answer)) {
      if (is_short)
        return io_error("[{}] expected {} bytes, got {} ({})", file.path, file.size, partial.size(),
                        repo.text());
      return refusal(hub, repo, file.path, *answer);
    }
  }
}

}  // namespace anemone::hub
