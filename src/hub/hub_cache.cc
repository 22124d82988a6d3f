// SPDX-License-Identifier: Apache-2.0
#include "hub/hub_cache.h"

#include "base/environment.h"
#include "base/error.h"
#include "base/file.h"

namespace anemone::hub {

namespace fs = std::filesystem;

namespace {

bool is_revision(const std::string& text) {
  return !text.empty() && text.find("..") == std::string::npos && text.front() != '/';
}

}  // namespace

std::optional<std::string> hub_home() {
  if (const auto home = environment_variable("HF_HOME")) return home;
  if (const auto cache = user_cache_folder()) return (fs::path(*cache) / "huggingface").string();
  return std::nullopt;
}

Result<HubCache> HubCache::from_environment(const RepoName& repo) {
  if (const auto named = environment_variable("HF_HUB_CACHE")) return HubCache(*named, repo);
  const auto home = hub_home();
  if (!home) return invalid_argument("[HF_HOME] expected a folder for downloads, got none");
  return HubCache(fs::path(*home) / "hub", repo);
}

HubCache::HubCache(fs::path root, const RepoName& repo) {
  const std::string folder = "models--" + repo.owner + "--" + repo.name;
  repo_ = root / folder;
  locks_ = root / ".locks" / folder;
}

Status HubCache::make_folders() const {
  for (const fs::path& folder : {repo_ / "blobs", repo_ / "snapshots", repo_ / "refs", locks_})
    ANEMONE_RETURN_IF_ERROR(make_directories(folder.string()));
  return {};
}

Status HubCache::link(const std::string& commit, const RemoteFile& file) const {
  const fs::path place = snapshot(commit) / file.path;
  ANEMONE_RETURN_IF_ERROR(make_directories(place.parent_path().string()));
  const fs::path target = blob(file.etag).lexically_relative(place.parent_path());
  std::error_code error;
  if (fs::read_symlink(place, error) == target) return {};
  // Under another name first: whoever looks sees the old link or the new one.
  const fs::path temporary = place.string() + ".linking";
  fs::remove(temporary, error);
  fs::create_symlink(target, temporary, error);
  if (!error) fs::rename(temporary, place, error);
  if (error) return io_error("[{}] cannot link: {}", place.string(), error.message());
  return {};
}

Status HubCache::write_ref(const std::string& revision, const std::string& commit) const {
  if (revision == commit || !is_revision(revision)) return {};
  const fs::path path = repo_ / "refs" / revision;
  ANEMONE_RETURN_IF_ERROR(make_directories(path.parent_path().string()));
  return write_file(path.string(), commit);
}

std::optional<std::string> HubCache::find(const std::string& revision) const {
  if (!is_revision(revision)) return std::nullopt;
  std::string commit = revision;
  if (const auto ref = read_file((repo_ / "refs" / revision).string(), 256); ref.ok()) {
    commit = *ref;
    while (!commit.empty() && static_cast<unsigned char>(commit.back()) <= 32) commit.pop_back();
  }
  std::error_code error;
  if (!is_revision(commit) || !fs::is_directory(snapshot(commit), error)) return std::nullopt;
  return snapshot(commit).string();
}

}  // namespace anemone::hub
