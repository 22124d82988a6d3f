// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>

namespace anemone::compiler {

// A folder that appears under its name as a whole or not at all: work goes into a neighbour,
// commit() renames it into place (replacing an artifact that was there), destruction without
// commit() removes it.
class OutputFolder {
 public:
  // kInvalidArgument when `path` exists and is neither an artifact nor an empty folder.
  static Result<OutputFolder> create(const std::string& path);
  OutputFolder(OutputFolder&& other) noexcept;
  OutputFolder& operator=(OutputFolder&&) = delete;
  ~OutputFolder();

  // Where to write.
  const std::string& working_path() const { return working_; }
  Status commit();

 private:
  OutputFolder(std::string path, std::string working)
      : path_(std::move(path)), working_(std::move(working)) {}
  std::string path_;
  std::string working_;  // empty once committed or moved from
};

}  // namespace anemone::compiler
