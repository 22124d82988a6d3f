// SPDX-License-Identifier: Apache-2.0
#include "compiler/output_folder.h"

#include <cerrno>
#include <filesystem>
#include <sys/stat.h>
#include <utility>

#include "artifact/manifest.h"
#include "base/error.h"
#include "base/file.h"
#include "compiler/journal.h"

namespace anemone::compiler {
namespace {

namespace fs = std::filesystem;

// Whether a folder with a manifest.json is ours to replace. Other programs use that name too. Looks
// for two keys and no more, so that a damaged artifact still counts.
bool is_artifact(const std::string& folder) {
  constexpr std::uint64_t kMaxBytes = 256 << 20;
  const auto text = read_file(folder + "/" + std::string(artifact::kManifestName), kMaxBytes);
  return text.ok() && text->find("\"format_version\"") != std::string::npos &&
         text->find("\"producer\"") != std::string::npos;
}

Status check_target(const std::string& path, const std::string& clean) {
  std::error_code error;
  if (clean.empty()) return invalid_argument("[-o] expected a folder name, got an empty one");
  if (!fs::exists(clean, error)) return {};
  if (!fs::is_directory(clean, error))
    return invalid_argument("[{}] expected a folder or a new name, got a file", path);
  if (!fs::is_empty(clean, error) && !is_artifact(clean))
    return invalid_argument(
        "[{}] expected an artifact, an empty folder or a new name, got a folder with other files",
        path);
  return {};
}

// A run that was killed between the two renames of commit() left the old artifact beside the new.
void finish_replacement(const std::string& path, const std::string& old) {
  std::error_code error;
  if (!fs::exists(old, error)) return;
  if (fs::exists(path, error))
    fs::remove_all(old, error);
  else
    fs::rename(old, path, error);
}

std::string old_path(const std::string& working) {
  return working + ".old";
}

// Makes the folder where it is not, and locks it. The process that had it may rename it into place
// meanwhile: then there is another one to make.
Result<FolderLock> make_locked(const std::string& path, const std::string& working) {
  while (true) {
    if (::mkdir(working.c_str(), 0777) != 0 && errno != EEXIST) {
      const std::string reason = std::generic_category().message(errno);
      return io_error("[{}] cannot create the folder: {}", path, reason);
    }
    auto lock = FolderLock::take(working);
    if (lock.ok() || lock.status().code() != Code::kNotFound) return lock;
  }
}

Status clear(const std::string& working) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(working, error)) {
    fs::remove_all(entry.path(), error);
    if (error) break;
  }
  if (error) return io_error("[{}] cannot clear the folder: {}", working, error.message());
  return {};
}

// Whether a compile left the folder: empty at its beginning, with a journal on its way, and a whole
// artifact when it was killed between the two steps of commit().
bool is_left_over(const std::string& working) {
  std::error_code error;
  return fs::is_directory(working, error) &&
         (fs::is_empty(working, error) || Journal::is_in(working) || is_artifact(working));
}

}  // namespace

Result<OutputFolder> OutputFolder::create(const std::string& path, bool keep) {
  std::string clean = path;
  while (clean.size() > 1 && clean.ends_with('/')) clean.pop_back();
  ANEMONE_RETURN_IF_ERROR(check_target(path, clean));
  std::string working = clean + ".partial";
  std::error_code error;
  if (fs::exists(working, error) && !is_left_over(working))
    return invalid_argument(
        "[{}] expected no {}, or one that an unfinished compile left, got something else", path,
        working);
  if (fs::path(clean).has_parent_path()) {
    const Status made = make_directories(fs::path(clean).parent_path().string());
    if (!made.ok()) return made;
  }
  ANEMONE_ASSIGN_OR_RETURN(FolderLock lock, make_locked(path, working));
  OutputFolder folder(std::move(clean), std::move(working), std::move(lock), keep);
  finish_replacement(folder.path_, old_path(folder.working_));
  if (!keep) ANEMONE_RETURN_IF_ERROR(clear(folder.working_));
  return folder;
}

OutputFolder::OutputFolder(OutputFolder&& other) noexcept
    : path_(std::move(other.path_)),
      working_(std::exchange(other.working_, std::string())),
      lock_(std::move(other.lock_)),
      keep_(other.keep_) {}

OutputFolder::~OutputFolder() {
  std::error_code error;
  if (!working_.empty() && !(keep_ && Journal::is_in(working_))) fs::remove_all(working_, error);
}

Status OutputFolder::commit() {
  ANEMONE_RETURN_IF_ERROR(Journal::remove(working_));
  std::error_code error;
  const std::string old = old_path(working_);
  const bool replaces = fs::exists(path_, error);
  if (replaces) {
    fs::rename(path_, old, error);
    if (error) return io_error("[{}] cannot move the old folder away: {}", path_, error.message());
  }
  fs::rename(working_, path_, error);
  if (error) {
    Status status =
        io_error("[{}] cannot rename the new folder into place: {}", path_, error.message());
    if (replaces) fs::rename(old, path_, error);
    return status;
  }
  working_.clear();
  if (replaces) fs::remove_all(old, error);
  return {};
}

}  // namespace anemone::compiler
