// SPDX-License-Identifier: Apache-2.0
#include "compiler/output_folder.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <sys/stat.h>
#include <utility>

#include "artifact/manifest.h"
#include "artifact/ownership.h"
#include "base/error.h"
#include "base/file.h"
#include "compiler/journal.h"

namespace anemone::compiler {
namespace {

namespace fs = std::filesystem;

// What is there itself: a link is a link.
fs::file_type type_of(const std::string& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type();
}

bool is_there(const std::string& path) {
  return type_of(path) != fs::file_type::not_found;
}

bool is_empty_folder(const std::string& path) {
  std::error_code error;
  return type_of(path) == fs::file_type::directory && fs::is_empty(path, error);
}

// Whether the artifact may appear under that name.
Status check_target(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  if (name.empty() || name == "." || name == "..")
    return invalid_argument("[-o] expected a folder name, got \"{}\"", path);
  switch (type_of(path)) {
    case fs::file_type::not_found:
      return {};
    case fs::file_type::directory:
      return is_empty_folder(path) ? Status() : artifact::check_all_is_ours(path);
    case fs::file_type::symlink:
      return invalid_argument("[{}] expected a folder or a new name, got a link", path);
    default:
      return invalid_argument("[{}] expected a folder or a new name, got a file", path);
  }
}

Status move_folder(const std::string& from, const std::string& to, std::string_view what) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  return errno_error(to, what);
}

// Makes the folder where it is not, and locks it. The process that had it may remove it meanwhile:
// then there is another one to make.
Result<FolderLock> make_locked(const std::string& path, const std::string& working) {
  while (true) {
    if (::mkdir(working.c_str(), 0777) != 0 && errno != EEXIST) {
      const std::string reason = std::generic_category().message(errno);
      return io_error("[{}] cannot create the folder: {}", path, reason);
    }
    if (type_of(working) != fs::file_type::directory && is_there(working))
      return invalid_argument(
          "[{}] expected no {}, or one that an unfinished compile left, got something else", path,
          working);
    auto lock = FolderLock::take(working);
    if (lock.ok() || lock.status().code() != Code::kNotFound) return lock;
  }
}

}  // namespace

Result<OutputFolder> OutputFolder::create(const std::string& path, bool keep) {
  std::string clean = path;
  while (clean.size() > 1 && clean.ends_with('/')) clean.pop_back();
  ANEMONE_RETURN_IF_ERROR(check_target(clean));
  std::string working = clean + ".partial";
  if (fs::path(clean).has_parent_path())
    ANEMONE_RETURN_IF_ERROR(make_directories(fs::path(clean).parent_path().string()));
  ANEMONE_ASSIGN_OR_RETURN(FolderLock lock, make_locked(path, working));
  // From here on its end removes what is ours and nothing else.
  OutputFolder folder(std::move(clean), std::move(working), std::move(lock), keep);
  ANEMONE_RETURN_IF_ERROR(folder.finish_replacement());
  ANEMONE_RETURN_IF_ERROR(Journal::check_all_is_ours(folder.working_));
  return folder;
}

OutputFolder::OutputFolder(OutputFolder&& other) noexcept
    : path_(std::move(other.path_)),
      working_(std::exchange(other.working_, std::string())),
      lock_(std::move(other.lock_)),
      keep_(other.keep_) {}

OutputFolder::~OutputFolder() {
  if (!working_.empty() && !(keep_ && Journal::has_finished_pieces(working_))) remove_working();
}

std::string OutputFolder::contents_path() const {
  return working_ + "/" + Journal::kContents;
}

// A run that was killed between the two renames of commit() left the old artifact in the working
// folder: it goes back where it was, or away where the new one has taken its place.
Status OutputFolder::finish_replacement() const {
  const std::string replaced = replaced_path();
  if (!is_there(replaced)) return {};
  if (type_of(replaced) != fs::file_type::directory)
    return invalid_argument("[{}] expected an artifact, got something else", replaced);
  if (!is_there(path_)) return move_folder(replaced, path_, "move the old artifact back");
  ANEMONE_RETURN_IF_ERROR(artifact::check_all_is_ours(replaced));
  std::error_code error;
  fs::remove_all(replaced, error);
  if (error) return io_error("[{}] cannot remove: {}", replaced, error.message());
  return {};
}

// A folder that holds anything else stays with all that is in it.
void OutputFolder::remove_working() const {
  std::error_code error;
  if (Journal::check_all_is_ours(working_).ok()) fs::remove_all(working_, error);
}

Status OutputFolder::commit() {
  // It may have changed since create().
  ANEMONE_RETURN_IF_ERROR(check_target(path_));
  const std::string replaced = replaced_path();
  // rename() itself replaces an empty folder.
  const bool replaces = is_there(path_) && !is_empty_folder(path_);
  if (replaces) {
    ANEMONE_RETURN_IF_ERROR(move_folder(path_, replaced, "move the old folder away from"));
    // Where nobody can add anything under its old name any more.
    if (const Status status = artifact::check_all_is_ours(replaced); !status.ok()) {
      ANEMONE_RETURN_IF_ERROR(move_folder(replaced, path_, "move the old folder back"));
      return status;
    }
  }
  if (const Status status = move_folder(contents_path(), path_, "rename the new folder into place");
      !status.ok()) {
    if (replaces) ANEMONE_RETURN_IF_ERROR(move_folder(replaced, path_, "move the old folder back"));
    return status;
  }
  std::error_code error;
  if (replaces) fs::remove_all(replaced, error);
  remove_working();
  working_.clear();
  return {};
}

}  // namespace anemone::compiler
