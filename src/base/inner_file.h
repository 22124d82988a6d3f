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
// One layout has links that lead out of the folder and is allowed: in the cache of the Hugging Face
// hub the files of models--OWNER--NAME/snapshots/COMMIT are links into models--OWNER--NAME/blobs. A
// snapshot may link to the blobs of its own repository only.
//
// Gives folder + "/" + name, for the reader to open: the folder may change between this check and
// the opening, but whoever can change it can change the file as well. A file that does not exist
// passes, and the reader reports it. kCorrupt when a link leads out. Thread-safe.
Result<std::string> inner_file(const std::string& folder, std::string_view name);

}  // namespace anemone
