// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "exec/ane_direct/runtime.h"

namespace anemone::exec::ane_direct {

// The folders from which the private compiler reads programs: it wants the text and the weights as
// files, although it is given both.
//
//   PARENT/NAME/model.mil
//   PARENT/NAME/weights/....bin
//
// Programs of the same text and weights share a folder. Thread-safe. It must outlive the uses that
// it gives.
class ModelFolders {
 public:
  // A program uses a folder while it has one of these. The last use of a folder removes it.
  class Use {
   public:
    Use(ModelFolders& folders, std::string path);
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use();

   private:
    ModelFolders& folders_;
    const std::string path_;
  };

  // Writes the files of a program. Gives an error of the domain kFolderDomain (error_map.h) where
  // that fails, or where `name` is not the plain name of a folder; then nothing is left but what
  // another program uses.
  Outcome<std::shared_ptr<const Use>> make(const std::string& parent, const std::string& name,
                                           std::string_view mil,
                                           std::span<const WeightFile> weights);

 private:
  std::mutex mutex_;  // of what follows, and of the removal of folders
  std::map<std::string, int> users_;
};

}  // namespace anemone::exec::ane_direct
