// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "serve/jsonl/line_channel.h"
#include "serve/model_pool.h"
#include "serve/socket_file.h"

namespace anemone::serve::jsonl {

struct SocketOptions {
  std::string path;
  // When there are more, the one that has been without a line for longest goes; the new one when
  // all others have a request.
  int max_connections = 64;
  LineTimeouts timeouts = {.idle = std::chrono::minutes(10), .line = std::chrono::minutes(1)};
  LineOptions lines;
};

// JSON lines on a Unix socket; every connection has texts of its own. The file goes with the
// server.
class SocketServer {
 public:
  // The errors are those of SocketFile::listen().
  // Models and engine outlive the server; another thread runs the engine's turns.
  static Result<std::unique_ptr<SocketServer>> listen(ModelPool& models, engine::Engine& engine,
                                                      const SocketOptions& options);
  SocketServer(const SocketServer&) = delete;
  SocketServer& operator=(const SocketServer&) = delete;

  // Serves until the descriptor `stop` becomes readable; then requests in progress are ended.
  Status run(int stop);
  // Removes the socket file before the server ends, for a process that ends without it.
  void remove_file() { file_.remove(); }

 private:
  SocketServer(ModelPool& models, engine::Engine& engine, const SocketOptions& options,
               SocketFile file)
      : models_(models), engine_(engine), options_(options), file_(std::move(file)) {}

  ModelPool& models_;
  engine::Engine& engine_;
  const SocketOptions options_;
  SocketFile file_;
};

}  // namespace anemone::serve::jsonl
