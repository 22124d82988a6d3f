// SPDX-License-Identifier: Apache-2.0
// The small files that `serve` reads and writes: API keys and the ready file.
#pragma once

#include <anemone/status.h>

#include <string>
#include <vector>

#include "base/descriptor.h"
#include "serve/openai/key_limits.h"

namespace anemone::cli {

// Sources of the keys of a server: --api-key, --api-key-file, the environment. An empty text means
// "not given", since no flag takes an empty value (command.h).
struct ApiKeySource {
  std::string text;  // of the command line, which all users of the machine can see
  // A key per line, and its limits after it ("KEY concurrency=4 rate=60/min"); lines that begin
  // with # and empty ones are skipped.
  std::string file;
};

// The keys, from what was given, else the one of ANEMONE_API_KEY; none when there is none of these.
// kInvalidArgument for a key that is empty or has other characters than visible ASCII, since no
// client could send it, for a file without a key, for limits that are none and for a key that has
// two kinds of limits. Messages name lines by their number and show nothing of them.
Result<std::vector<serve::openai::ApiKey>> read_api_keys(const ApiKeySource& source);

// The file with the address of a server. It exists and is locked (flock) for as long as the server
// runs. No other file is replaced or removed. Single-thread.
class ReadyFile {
 public:
  // Removes a ready file that another server left, or an empty file: a client would take it for the
  // ready file of this server, which is still loading. kIo when the path holds anything else, when
  // it is the file of a server that runs, or when its folder is missing. An empty path stands for
  // no file.
  static Result<ReadyFile> prepare(const std::string& path);
  ReadyFile(ReadyFile&& other) noexcept;
  ReadyFile& operator=(ReadyFile&&) = delete;
  ~ReadyFile() { remove(); }

  // kIo when the path is taken by now.
  Status write(const std::string& url);
  // Removes the file if it still holds what write() wrote.
  void remove();

 private:
  explicit ReadyFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
  std::string text_;  // what was written
  Descriptor file_;   // holds the lock
};

}  // namespace anemone::cli
