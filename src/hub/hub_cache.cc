// SPDX-License-Identifier: Apache-2.0
#include "hub/hub_cache.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/environment.h"
#include "base/error.h"
#include "base/file.h"

namespace anemone::hub {

namespace fs = std::filesystem;

namespace {

bool is_revision(const std::string& text) {
  return !text.empty() && text.find("..") == std::string::npos && text.front() != '/';
}

// A path with a random suffix. Together with O_EXCL or symlink(), which never replace a file, it
// keeps others from placing a file there on purpose.
std::string random_name(const fs::path& path, std::string_view suffix) {
  return fmt::format("{}.{}{}", path.string(), random_suffix(), suffix);
}

// Makes `path` below `root` of real folders: a link among them would lead what is written
// elsewhere.
Status make_real_folders(const fs::path& root, const fs::path& path) {
  fs::path folder = root;
  for (const fs::path& part : path.lexically_relative(root)) {
    if (part == ".") continue;
    folder /= part;
    std::error_code error;
    fs::create_directory(folder, error);
    if (fs::symlink_status(folder, error).type() != fs::file_type::directory)
      return io_error("[{}] expected a folder, got something else in its place", folder.string());
  }
  return {};
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
  if (!home)
    return invalid_argument(
        "[HF_HOME] expected a folder for downloads, got none: set HF_HOME or HOME");
  return HubCache(fs::path(*home) / "hub", repo);
}

HubCache::HubCache(fs::path root, const RepoName& repo) {
  const std::string folder = "models--" + repo.owner + "--" + repo.name;
  repo_ = root / folder;
  locks_ = root / ".locks" / folder;
}

Status HubCache::make_folders() const {
  ANEMONE_RETURN_IF_ERROR(make_directories(repo_.string()));
  ANEMONE_RETURN_IF_ERROR(make_directories(locks_.string()));
  for (const char* name : {"blobs", "snapshots", "refs"})
    ANEMONE_RETURN_IF_ERROR(make_real_folders(repo_, repo_ / name));
  return {};
}

fs::path HubCache::new_incomplete(const std::string& etag) const {
  return random_name(blob(etag), ".incomplete");
}

std::vector<fs::path> HubCache::incomplete(const std::string& etag) const {
  std::vector<std::pair<off_t, fs::path>> found;
  std::error_code error;
  for (fs::directory_iterator it(repo_ / "blobs", error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(etag + ".") || !name.ends_with(".incomplete")) continue;
    struct stat info {};
    if (::lstat(it->path().c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1 &&
        info.st_uid == ::geteuid())
      found.emplace_back(info.st_size, it->path());
  }
  std::ranges::sort(found, std::greater<>());
  std::vector<fs::path> out;
  for (auto& [size, path] : found) out.push_back(std::move(path));
  return out;
}

Status HubCache::link(const std::string& commit, const RemoteFile& file) const {
  const fs::path place = snapshot(commit) / file.path;
  ANEMONE_RETURN_IF_ERROR(make_real_folders(repo_, place.parent_path()));
  const fs::path target = blob(file.etag).lexically_relative(place.parent_path());
  std::error_code error;
  if (fs::read_symlink(place, error) == target) return {};
  // The link gets another name first, so that a reader sees the old link or the new one.
  const fs::path temporary = random_name(place, ".linking");
  fs::create_symlink(target, temporary, error);
  if (!error) {
    fs::rename(temporary, place, error);
    std::error_code ignored;
    if (error) fs::remove(temporary, ignored);
  }
  if (error) return io_error("[{}] cannot link: {}", place.string(), error.message());
  return {};
}

Status HubCache::write_ref(const std::string& revision, const std::string& commit) const {
  if (revision == commit || !is_revision(revision)) return {};
  const fs::path path = repo_ / "refs" / revision;
  ANEMONE_RETURN_IF_ERROR(make_real_folders(repo_, path.parent_path()));
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
  if (!is_revision(commit) || commit.find('/') != std::string::npos ||
      !fs::is_directory(snapshot(commit), error))
    return std::nullopt;
  return snapshot(commit).string();
}

}  // namespace anemone::hub
