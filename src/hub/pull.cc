// SPDX-License-Identifier: Apache-2.0
#include "hub/pull.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "base/environment.h"
#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "hub/blob_check.h"
#include "hub/download.h"
#include "hub/hub_cache.h"

namespace anemone::hub {
namespace {

namespace fs = std::filesystem;

bool is_offline() {
  const std::string text = environment_variable("HF_HUB_OFFLINE").value_or("0");
  return text != "0" && text != "false" && text != "False";
}

// Several files at a time; the first error ends the work.
class Downloads {
 public:
  Downloads(const HubAddress& hub, const RepoName& repo, const HubCache& cache,
            const PullProgress& progress, Pulled& pulled)
      : hub_(hub), repo_(repo), cache_(cache), progress_(progress), pulled_(pulled) {
    // Small ones first: whoever looks into the snapshot then finds the configuration.
    order_.resize(pulled.files.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return pulled.files[a].size < pulled.files[b].size;
    });
  }

  Status run(int jobs) {
    std::vector<std::thread> threads;
    const auto count = std::clamp<std::size_t>(static_cast<std::size_t>(jobs), 1, order_.size());
    for (std::size_t i = 1; i < count; ++i) threads.emplace_back([this] { work(); });
    work();
    for (std::thread& thread : threads) thread.join();
    return status_;
  }

 private:
  void work() {
    HttpClient client;
    while (true) {
      const std::size_t next = next_.fetch_add(1);
      if (next >= order_.size() || has_failed_) return;
      const RemoteFile& file = pulled_.files[order_[next]];
      const Status status = bring(client, file);
      if (status.ok()) continue;
      const std::lock_guard guard(mutex_);
      if (status_.ok()) status_ = status;
      has_failed_ = true;
    }
  }

  Status bring(HttpClient& client, const RemoteFile& file) {
    ANEMONE_RETURN_IF_ERROR(
        download_file(client, hub_, repo_, pulled_.commit, file, cache_, [&](std::int64_t bytes) {
          const std::lock_guard guard(mutex_);
          done_ += bytes;
          progress_(static_cast<std::uint64_t>(std::max<std::int64_t>(0, done_)), pulled_.bytes);
        }));
    return cache_.link(pulled_.commit, file);
  }

  const HubAddress& hub_;
  const RepoName& repo_;
  const HubCache& cache_;
  const PullProgress& progress_;
  Pulled& pulled_;
  std::vector<std::size_t> order_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> has_failed_ = false;
  std::mutex mutex_;
  std::int64_t done_ = 0;
  Status status_;
};

// The bytes that are not in the cache yet, those of interrupted downloads left out.
std::uint64_t missing_bytes(const HubCache& cache, const Pulled& pulled) {
  std::uint64_t missing = 0;
  for (const RemoteFile& file : pulled.files) {
    std::uint64_t there = 0;
    std::vector<fs::path> paths = cache.incomplete(file.etag);
    paths.push_back(cache.blob(file.etag));
    for (const fs::path& path : paths) {
      std::error_code error;
      if (const auto size = fs::file_size(path, error); !error)
        there = std::max<std::uint64_t>(there, size);
    }
    missing += file.size - std::min(there, file.size);
  }
  return missing;
}

Status check_space(const HubCache& cache, const Pulled& pulled) {
  const std::uint64_t needed = missing_bytes(cache, pulled);
  const std::string folder = cache.snapshot(pulled.commit).string();
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t there, free_disk_bytes(folder));
  if (needed > there)
    return io_error("[{}] cannot write: no space left on device (needs {}, {} free)", folder,
                    format_bytes(needed), format_bytes(there));
  return {};
}

}  // namespace

Result<std::optional<std::string>> find_pulled(const RepoName& repo, const std::string& revision,
                                               const PullProgress& progress) {
  const auto cache = HubCache::from_environment(repo);
  if (!cache.ok()) return std::optional<std::string>();
  auto folder = cache->find(revision);
  if (folder) ANEMONE_RETURN_IF_ERROR(check_snapshot(*cache, *folder, progress));
  return folder;
}

Result<Pulled> pull(const RepoName& repo, const PullOptions& options,
                    const PullProgress& progress) {
  ANEMONE_ASSIGN_OR_RETURN(const HubCache cache, HubCache::from_environment(repo));
  Pulled out;
  if (is_offline()) {
    ANEMONE_ASSIGN_OR_RETURN(const auto folder, find_pulled(repo, options.revision, progress));
    if (!folder)
      return not_found("[{}] is not in the cache, and HF_HUB_OFFLINE forbids downloading it",
                       repo.text());
    out.folder = *folder;
    out.commit = fs::path(*folder).filename().string();
    return out;
  }
  ANEMONE_ASSIGN_OR_RETURN(const HubAddress hub, HubAddress::from_environment());
  HttpClient client;
  ANEMONE_ASSIGN_OR_RETURN(const Snapshot snapshot,
                           list_snapshot(client, hub, repo, options.revision));
  ANEMONE_ASSIGN_OR_RETURN(out.files, choose_files(snapshot, options.patterns, repo));
  out.commit = snapshot.commit;
  out.folder = cache.snapshot(snapshot.commit).string();
  ANEMONE_RETURN_IF_ERROR(check_names(out.files, repo));
  for (const RemoteFile& file : out.files) {
    // The total stays within what the progress can count.
    if (file.size > static_cast<std::uint64_t>(INT64_MAX) - out.bytes)
      return parse_error(
          "[{}] the sizes of all files together are too large: {} bytes for {} alone", repo.text(),
          file.size, file.path);
    out.bytes += file.size;
  }
  if (options.on_plan) ANEMONE_RETURN_IF_ERROR(options.on_plan(out, missing_bytes(cache, out)));
  ANEMONE_RETURN_IF_ERROR(cache.make_folders());
  ANEMONE_RETURN_IF_ERROR(check_space(cache, out));
  ANEMONE_RETURN_IF_ERROR(Downloads(hub, repo, cache, progress, out).run(options.jobs));
  ANEMONE_RETURN_IF_ERROR(cache.write_ref(options.revision, out.commit));
  return out;
}

}  // namespace anemone::hub
