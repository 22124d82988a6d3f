// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>

#include "base/file_identity.h"
#include "base/thread_pool.h"

namespace anemone {

// Computes hashes of whole files and remembers them in a folder, under the identity of the file
// (file_identity.h): a file is read again only after its identity has changed. The hash is SHA-256
// over the SHA-256 of each 16 MiB, so that all threads of the pool hash one file. It has to be
// cryptographic: otherwise somebody could make a second model with the hash of the first, which
// would be used in its place. One thread at a time may use an object.
class FileHashes {
 public:
  // `folder` is private to the user, since its entries are believed; empty: nothing is remembered.
  FileHashes(std::string folder, ThreadPool& threads)
      : folder_(std::move(folder)), threads_(threads) {}

  // 64 hex digits. kIo when the file cannot be read or changes meanwhile. With
  // `reads_again` it reads the file even if its hash is remembered.
  Result<std::string> of(const FileIdentity& file, bool reads_again = false);

  // Whether of() would not read the file.
  bool remembers(const FileIdentity& file) const;

  // Forgets all of them. What else lies in the folder stays.
  static void forget(const std::string& folder);

 private:
  Result<std::string> read(const FileIdentity& file);

  std::string folder_;
  ThreadPool& threads_;
};

}  // namespace anemone
