// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>
#include <string_view>

namespace anemone {

// The one rule for files of a folder that somebody else made (a checkpoint, an artifact, a package,
// an ONNX bundle, the parts of a GGUF file): a file is read only where it lies in that folder once
// all links are followed, so that a folder cannot name the reader's other files. The folder itself
// may be reached through links, since the user named it.
//
// One layout leads out and is allowed: in the cache of the Hugging Face hub the files of
// models--OWNER--NAME/snapshots/COMMIT are links into models--OWNER--NAME/blobs, and a folder in
// there may hold links to its own repository's blobs.
//
// Gives folder + "/" + name, which is what the reader opens: who can change the folder between the
// check and the opening can change the file as well. What is not there passes, for the reader to
// say; kCorrupt when a link leads out. Thread-safe.
Result<std::string> inner_file(const std::string& folder, std::string_view name);

}  // namespace anemone
