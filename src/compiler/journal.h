// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "artifact/manifest.h"

namespace anemone::compiler {

// What is finished in a working folder, so that a run that was interrupted can be resumed:
// FOLDER/compile.json names the pieces (packages, the embedding file) with their hashes. A piece is
// used again only by a run with the same fingerprint, and only if its files still have those
// hashes. Single-thread.
class Journal {
 public:
  // Reads the journal of the folder, drops everything there that it does not name, or all of it
  // when the fingerprint is another. `fingerprint` stands for all that the pieces depend on.
  static Result<Journal> open(const std::string& folder, const std::string& fingerprint);

  // The files of a finished piece, with their hashes checked; nullptr when it has to be made. Valid
  // as long as the journal.
  const std::vector<artifact::FileEntry>* find(const std::string& piece);
  // Hashes the files of a piece, paths relative to the folder, and records it.
  Result<const std::vector<artifact::FileEntry>*> add(const std::string& piece);
  // Of all finished pieces.
  std::uint64_t total_bytes() const;

  // Whether a folder has a journal, whatever it says.
  static bool is_in(const std::string& folder);
  static Status remove(const std::string& folder);

 private:
  Journal(std::string folder, std::string fingerprint)
      : folder_(std::move(folder)), fingerprint_(std::move(fingerprint)) {}
  void read();
  Status drop_the_rest() const;
  Status write() const;

  std::string folder_;
  std::string fingerprint_;
  std::map<std::string, std::vector<artifact::FileEntry>> pieces_;
};

}  // namespace anemone::compiler
