// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file_identity.h"
#include "base/opened_files.h"

namespace anemone::compiler {

// The identities of a checkpoint's files when a compilation begins. Their contents are not read.
class SourceFiles {
 public:
  // Call it before any of the files is read.
  static Result<SourceFiles> of(const std::string& model);

  // Identifies the files in their present state: part of the fingerprint that --resume compares.
  std::string text() const { return text_of(files_); }
  const std::vector<FileIdentity>& files() const { return files_; }
  // kIo if a file was written to, added or removed since, or if a reader opened another file under
  // one of the paths: the output would mix two checkpoints.
  Status check_unchanged() const;

 private:
  explicit SourceFiles(std::string model) : model_(std::move(model)) {}
  static Result<std::vector<FileIdentity>> list(const std::string& model);
  std::string model_;
  std::unique_ptr<const OpenedFiles> opened_ = std::make_unique<OpenedFiles>();
  std::vector<FileIdentity> files_;
};

}  // namespace anemone::compiler
