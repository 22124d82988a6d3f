// SPDX-License-Identifier: Apache-2.0
// What a checkpoint is made of, so that what was made from it can be found again.
#pragma once

#include <anemone/status.h>

#include <functional>
#include <string>
#include <vector>

#include "base/file_hashes.h"

namespace anemone::checkpoint {

// Small files of text that a folder may have.
inline constexpr std::string_view kTextFiles[] = {"tokenizer.json", "tokenizer_config.json",
                                                  "special_tokens_map.json", "chat_template.jinja"};

// The files that a compile of the checkpoint reads, and no others that lie beside them: sorted,
// each once. Takes what open_checkpoint() takes.
Result<std::vector<std::string>> files_of(const std::string& path);

struct Content {
  // Hash of the names and contents of `files`: 64 hex digits. Two checkpoints with one hash are the
  // same, wherever they lie and whatever their times are.
  std::string hash;
  std::vector<FileIdentity> files;  // that have this content
};

// `reads_again`: all files are read, even those whose hash is remembered. `check` is called once,
// before the first file that has to be read: reading may take hours, and a file may turn out not to
// be a model.
Result<Content> content_of(const std::string& path, FileHashes& hashes, bool reads_again,
                           const std::function<Status()>& check);

}  // namespace anemone::checkpoint
