// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "artifact/manifest.h"

namespace anemone::compiler {

// What a compile has written so far: FOLDER/compile.json names all that it began (packages, files)
// below FOLDER/artifact, and of what is finished the files with their hashes. It says what a later
// run may take over, and what may be deleted: nothing that it does not name. A piece is used again
// only by a run with the same fingerprint, and only if its files still have those hashes.
// Single-thread.
class Journal {
 public:
  static constexpr const char* kName = "compile.json";
  static constexpr const char* kContents = "artifact";

  // Reads the journal of the folder. What is there and was not finished goes, or all of it when the
  // fingerprint is another or `takes_over` is false. `fingerprint` stands for all that the pieces
  // depend on.
  // kInvalidArgument naming what is in the way when something else lies there.
  static Result<Journal> open(const std::string& folder, const std::string& fingerprint,
                              bool takes_over);

  // Notes a piece before anything is written under its name (or "NAME.tmp.*").
  Status begin(const std::string& piece);
  // The files of a finished piece, with their hashes checked; nullptr when it has to be made. Valid
  // as long as the journal.
  const std::vector<artifact::FileEntry>* find(const std::string& piece);
  // Hashes the files of a piece that was begun, paths relative to the contents, and records it.
  Result<const std::vector<artifact::FileEntry>*> add(const std::string& piece);
  // Size of all finished pieces together.
  std::uint64_t total_bytes() const;

  // Ok when all that lies in the folder is what its journal names, and the journal itself.
  // kInvalidArgument naming what is in the way.
  static Status check_all_is_ours(const std::string& folder);
  // Deletes that, and the folder where nothing else lies in it. The journal goes last, so that a
  // process that is killed leaves what is still anemone's.
  static void remove_all_that_is_ours(const std::string& folder);
  // Whether a run has something to take over.
  static bool has_finished_pieces(const std::string& folder);

 private:
  explicit Journal(std::string folder) : folder_(std::move(folder)) {}
  // False when there is none that can be read.
  bool read();
  Status check_names() const;
  // The files that may lie under a name in the contents; none of a name that was not begun.
  std::set<std::string> files_under(const std::string& name) const;
  Status drop_unfinished();
  Status write() const;
  std::string contents() const { return folder_ + "/" + kContents; }

  std::string folder_;
  std::string fingerprint_;
  // What was begun; empty: not finished.
  std::map<std::string, std::vector<artifact::FileEntry>> pieces_;
};

}  // namespace anemone::compiler
