// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/digest.h"
#include "hub/repository.h"

namespace anemone::hub {

// Takes the bytes of a file and gives the hash by which the hub names its content: SHA-256 of a
// large file's bytes; of others the SHA-1 of the git blob, which is "blob SIZE\0" and the bytes.
Digest content_hash(const RemoteFile& file);

}  // namespace anemone::hub
