// SPDX-License-Identifier: Apache-2.0
#include "hub/download.h"

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
#include "hub/content_hash.h"
#include "hub/retry.h"

namespace anemone::hub {
namespace {

namespace fs = std::filesystem;

Descriptor open_descriptor(const fs::path& path) {
  return Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
}

Status lock(const Descriptor& file, const fs::path& path) {
  if (!file.is_open()) return errno_error(path.string(), "open");
  while (::flock(file.get(), LOCK_EX) != 0)
    if (errno != EINTR) return errno_error(path.string(), "lock");
  return {};
}

// The part of a content that is here. Bytes go to its end.
class Partial {
 public:
  Partial(const fs::path& path, const RemoteFile& file)
      : path_(path.string()), file_(file), descriptor_(open_descriptor(path)) {}

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
    if (::fsync(descriptor_.get()) != 0) return errno_error(path_, "write");
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
  const Descriptor lock_file = open_descriptor(lock_path);
  ANEMONE_RETURN_IF_ERROR(lock(lock_file, lock_path));
  const fs::path blob = cache.blob(file.etag);
  std::error_code error;
  if (fs::file_size(blob, error) == file.size && !error) {
    received(static_cast<std::int64_t>(file.size));
    return {};
  }
  Partial partial(cache.incomplete(file.etag), file);
  ANEMONE_RETURN_IF_ERROR(partial.begin(received));
  Retry retry;
  bool was_wrong = false;
  const std::string url = content_url(hub, repo, commit, file.path);
  while (true) {
    if (partial.is_whole()) {
      if (partial.has_right_hash()) return partial.finish(blob);
      ANEMONE_RETURN_IF_ERROR(partial.restart(received));
      if (was_wrong)
        return corrupt("[{}] expected content with the hash {}, got another one twice ({})",
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
    if (partial.size() > before) retry.progress();
    if (answer->is_whole() && answer->status == 416) {
      ANEMONE_RETURN_IF_ERROR(partial.restart(received));
      if (!retry.wait(*answer)) return refusal(hub, repo, file.path, *answer);
      continue;
    }
    if (partial.is_whole()) continue;
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
