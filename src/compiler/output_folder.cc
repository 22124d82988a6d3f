// SPDX-License-Identifier: Apache-2.0
#include "compiler/output_folder.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
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

// Whether a folder may appear under that name.
Status check_name(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  if (name.empty() || name == "." || name == "..")
    return invalid_argument("[-o] expected a folder name, got \"{}\"", path);
  switch (type_of(path)) {
    case fs::file_type::not_found:
    case fs::file_type::directory:
      return {};
    case fs::file_type::symlink:
      return invalid_argument("[{}] expected a folder or a new name, got a link", path);
    default:
      return invalid_argument("[{}] expected a folder or a new name, got a file", path);
  }
}

// Whether the folder of that name, if there is one, may be replaced. Another run may replace it
// unless this one has the lock.
Status check_replaceable(const std::string& path) {
  const bool is_free = !is_there(path) || is_empty_folder(path);
  return is_free ? Status() : artifact::check_all_is_ours(path);
}

Status move_folder(const std::string& from, const std::string& to, std::string_view what) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  return errno_error(to, what);
}

// Checks that this user owns the folder: where others may write (/tmp), one of them could have put
// files there for the run to take over.
Status check_owner(const std::string& working) {
  struct stat info {};
  if (::lstat(working.c_str(), &info) != 0 || info.st_uid == ::geteuid()) return {};
  return invalid_argument("[{}] expected a folder of the user {}, got one of the user {}", working,
                          ::geteuid(), info.st_uid);
}

// Makes the folder where it is not, and locks it. The process that had it may remove it meanwhile:
// then there is another one to make.
Result<FolderLock> make_locked(const std::string& path, const std::string& working) {
  while (true) {
    const bool is_new = ::mkdir(working.c_str(), 0777) == 0;
    if (!is_new && errno != EEXIST) {
      const std::string reason = std::generic_category().message(errno);
      return io_error("[{}] cannot create the folder: {}", path, reason);
    }
    if (type_of(working) != fs::file_type::directory && is_there(working))
      return invalid_argument("[{}] {} is in the way, and no unfinished compile left it", path,
                              working);
    if (!is_new) ANEMONE_RETURN_IF_ERROR(check_owner(working));
    auto lock = FolderLock::take(working);
    if (lock.ok() || lock.status().code() != Code::kNotFound) return lock;
  }
}

}  // namespace

Result<OutputFolder> OutputFolder::create(const std::string& path, bool keep) {
  std::string clean = path;
  while (clean.size() > 1 && clean.ends_with('/')) clean.pop_back();
  ANEMONE_RETURN_IF_ERROR(check_name(clean));
  std::string working = clean + ".partial";
  if (fs::path(clean).has_parent_path())
    ANEMONE_RETURN_IF_ERROR(make_directories(fs::path(clean).parent_path().string()));
  ANEMONE_ASSIGN_OR_RETURN(FolderLock lock, make_locked(path, working));
  // The object removes what is ours, and nothing else, when it ends.
  OutputFolder folder(std::move(clean), std::move(working), std::move(lock), keep);
  ANEMONE_RETURN_IF_ERROR(check_replaceable(folder.path_));
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

// What is deleted has another name than what may go back to where it was, so that a process that is
// killed half-way never leaves half of an artifact under the name of a whole one.
Status OutputFolder::discard_replaced() const {
  ANEMONE_RETURN_IF_ERROR(artifact::check_all_is_ours(replaced_path()));
  ANEMONE_RETURN_IF_ERROR(
      move_folder(replaced_path(), discarded_path(), "move the old artifact away to"));
  return artifact::remove_all_that_is_ours(discarded_path());
}

// A run that was killed between the two renames of commit() left the old artifact in the working
// folder: it goes back where it was, or away where the new one has taken its place.
Status OutputFolder::finish_replacement() const {
  // Every run that moves a folder has a journal. A folder without one belongs to the user.
  const bool has_journal = type_of(working_ + "/" + Journal::kName) == fs::file_type::regular;
  const std::string discarded = discarded_path();
  // The folder itself is the last thing to go.
  if (has_journal && is_empty_folder(discarded)) (void)::rmdir(discarded.c_str());
  if (is_there(discarded)) ANEMONE_RETURN_IF_ERROR(artifact::remove_all_that_is_ours(discarded));
  const std::string replaced = replaced_path();
  if (!is_there(replaced)) return {};
  if (type_of(replaced) != fs::file_type::directory)
    return invalid_argument("[{}] expected an artifact, got something else", replaced);
  if (is_there(path_)) return discard_replaced();
  if (!has_journal)
    return invalid_argument(
        "[{}] has a folder \"replaced\" but no {}, so anemone did not leave it; move it away",
        working_, Journal::kName);
  return move_folder(replaced, path_, "move the old artifact back");
}

// A folder that holds anything else stays with all that is in it.
void OutputFolder::remove_working() const {
  Journal::remove_all_that_is_ours(working_);
}

Status OutputFolder::commit() {
  // It may have changed since create().
  ANEMONE_RETURN_IF_ERROR(check_name(path_));
  ANEMONE_RETURN_IF_ERROR(check_replaceable(path_));
  const std::string replaced = replaced_path();
  // rename() itself replaces an empty folder.
  const bool replaces = is_there(path_) && !is_empty_folder(path_);
  if (replaces) {
    ANEMONE_RETURN_IF_ERROR(move_folder(path_, replaced, "move the old folder away from"));
    // The check comes after the move, when nobody can add anything under the old name any more.
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
  if (replaces) (void)discard_replaced();
  remove_working();
  working_.clear();
  return {};
}

Status discard_unfinished(const std::string& path) {
  std::string clean = path;
  while (clean.size() > 1 && clean.ends_with('/')) clean.pop_back();
  if (!is_there(clean + ".partial")) return {};
  return OutputFolder::create(clean, /*keep=*/false).status();
}

}  // namespace anemone::compiler
