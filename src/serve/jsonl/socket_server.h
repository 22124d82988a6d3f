// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "serve/jsonl/line_channel.h"
#include "serve/served_model.h"

namespace anemone::serve::jsonl {

struct SocketOptions {
  std::string path;
  int parallel = 1;          // requests that run at a time
  int max_connections = 64;  // each may hold a session
  LineOptions lines;
};

// A Unix socket that only its owner may use (mode 0600); every connection is a dialog of its own.
// The file goes with the server.
class SocketServer {
 public:
  // A socket file that nobody answers on is left over from a server that died, and replaced.
  // kInvalidArgument when the path is too long for a socket, kIo when it cannot be had or is in
  // use.
  static Result<std::unique_ptr<SocketServer>> listen(const ModelSet& models,
                                                      const SocketOptions& options);
  ~SocketServer();
  SocketServer(const SocketServer&) = delete;
  SocketServer& operator=(const SocketServer&) = delete;

  // Serves until the descriptor `stop` becomes readable; then requests in progress are ended.
  Status run(int stop);

 private:
  SocketServer(const ModelSet& models, const SocketOptions& options, Descriptor listener)
      : models_(models), options_(options), listener_(std::move(listener)) {}

  const ModelSet& models_;
  const SocketOptions options_;
  Descriptor listener_;
};

}  // namespace anemone::serve::jsonl
