// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>
#include <vector>

#include "hub/repository.h"

namespace anemone::hub {

// Patterns of the shell over whole paths, where '*' goes over '/' too, as with the hub's own tools.
struct FilePatterns {
  std::vector<std::string> include;  // empty: what a model needs
  std::vector<std::string> exclude;
  std::string
      variant{};  // GGUF files of this variant alone (model_reference.h), whatever `include` says
};

// The files to download. If there are no patterns, they are the configuration and tokenizer files
// at the top, and the weights: safetensors, else one GGUF model, else an ONNX bundle. kUnsupported
// when a repository has none of these, kInvalidArgument when the user has to choose.
Result<std::vector<RemoteFile>> choose_files(const Snapshot& snapshot, const FilePatterns& patterns,
                                             const RepoName& repo);

// kUnsupported for names that cannot lie side by side everywhere: two that differ in case alone, or
// a file with the name of a folder.
Status check_names(const std::vector<RemoteFile>& files, const RepoName& repo);

}  // namespace anemone::hub
