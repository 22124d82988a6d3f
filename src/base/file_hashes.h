// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>

#include "base/file_identity.h"
#include "base/thread_pool.h"

namespace anemone {

// Hashes of whole files, read once: what a file's hash was is remembered in a folder, under the
// file's identity (file_identity.h), and taken from there as long as the identity stays. The hash
// is SHA-256 over the SHA-256 of each 16 MiB, so that all threads work at one file: two contents
// with one hash must not be makeable on purpose, or one model could answer in the place of another,
// which rules out the fast hashes that are not cryptographic. One thread.
class FileHashes {
 public:
  // `folder` is private to the user, since its entries are believed; empty: nothing is remembered.
  FileHashes(std::string folder, ThreadPool& threads)
      : folder_(std::move(folder)), threads_(threads) {}

  // 64 hex digits. kIo when the file cannot be read or changes meanwhile. `reads_again`: whatever
  // is remembered.
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
