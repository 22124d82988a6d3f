// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>
#include <utility>

#include "base/folder_lock.h"

namespace anemone::compiler {

// A folder that appears under its name as a whole or not at all. Work goes into its neighbour:
//   NAME.partial/compile.json   what of it is anemone's (journal.h)
//   NAME.partial/artifact/      what becomes NAME
//   NAME.partial/replaced/      what was NAME, between the two renames of commit(): always whole
//   NAME.partial/discarded/     the same after the second one, while it is deleted
// Destruction without commit() removes what was written, unless it is to be kept; a process that is
// killed leaves it behind, for the next one to take over or to remove. While the object lives, no
// other process writes there.
//
// Nothing is deleted but what a journal or an artifact's manifest lists, and nothing through a
// link: where anything else lies, create() and commit() refuse and name it.
class OutputFolder {
 public:
  // `keep`: an unfinished run stays for the next one, where there is something to take over.
  // kInvalidArgument when `path` is there and is neither an artifact with its own files alone nor
  // an empty folder, or when "NAME.partial" is not ours; kBusy when another process is at work
  // there.
  static Result<OutputFolder> create(const std::string& path, bool keep);
  OutputFolder(OutputFolder&& other) noexcept;
  OutputFolder& operator=(OutputFolder&&) = delete;
  ~OutputFolder();

  // NAME.partial, for the journal.
  const std::string& working_path() const { return working_; }
  // The folder to write the artifact to.
  std::string contents_path() const;
  Status commit();

 private:
  OutputFolder(std::string path, std::string working, FolderLock lock, bool keep)
      : path_(std::move(path)), working_(std::move(working)), lock_(std::move(lock)), keep_(keep) {}
  std::string replaced_path() const { return working_ + "/replaced"; }
  std::string discarded_path() const { return working_ + "/discarded"; }
  Status finish_replacement() const;
  Status discard_replaced() const;
  void remove_working() const;

  std::string path_;
  std::string working_;  // empty once committed or moved from
  FolderLock lock_;      // of the working folder
  bool keep_ = false;
};

// Removes what an unfinished run left beside an output folder (NAME.partial), which is then as it
// was before that run. Ok where nothing was left; the errors are those of OutputFolder::create().
Status discard_unfinished(const std::string& path);

}  // namespace anemone::compiler
