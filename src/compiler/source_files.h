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

// The files of a checkpoint, as they were when a compile began. Nothing of them is read.
class SourceFiles {
 public:
  // Call it before any of the files is read.
  static Result<SourceFiles> of(const std::string& model);

  // Stands for these very files as they are: a resumed run takes over only what came from them.
  std::string text() const { return text_of(files_); }
  const std::vector<FileIdentity>& files() const { return files_; }
  // kIo when one of them was written to, or came or went, or when others were read in their place,
  // so that what was compiled is neither the old checkpoint nor the new one.
  Status check_unchanged() const;

 private:
  explicit SourceFiles(std::string model) : model_(std::move(model)) {}
  static Result<std::vector<FileIdentity>> list(const std::string& model);
  std::string model_;
  std::unique_ptr<const OpenedFiles> opened_ = std::make_unique<OpenedFiles>();
  std::vector<FileIdentity> files_;
};

}  // namespace anemone::compiler
