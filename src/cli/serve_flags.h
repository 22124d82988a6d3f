// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/draft_flags.h"
#include "cli/serve_files.h"
#include "serve/openai_server.h"

namespace anemone::cli {

// What `anemone serve` was given.
struct ServeOptions {
  std::vector<std::string> models;
  std::vector<std::string> aliases;
  serve::OpenAiServerOptions server;
  ApiKeySource key;
  std::string chat_template_file;
  std::string ready_file;
  std::string tls_certificate;  // with its key: serve HTTPS
  std::string tls_key;
  std::string socket;
  std::size_t models_max = 0;  // loaded at a time; 0: all
  std::string models_memory;   // most bytes of all models that are loaded; empty: no bound
  std::string keep_alive;      // empty: models stay loaded
  std::int64_t context = 0;    // tokens that a checkpoint is compiled for; 0: the default
  bool is_lazy = false;        // no model is loaded before a request asks for it
  std::int64_t sequences = 0;  // 0: what the memory allows
  std::int64_t cache_mb = 0;   // 0: the engine's default
  bool is_stdin = false;
  bool checks_hashes = false;
  bool requires_ane = false;
  std::string log_format = "text";
  std::string pooling = "last";
  DraftFlags drafts;

  bool is_http() const { return !is_stdin && socket.empty(); }
  // How many of the models are loaded before the server is ready.
  std::size_t models_at_start() const {
    if (is_lazy) return 0;
    return models_max == 0 ? models.size() : std::min(models_max, models.size());
  }
};

// The options outlive the command.
void add_serve_flags(CLI::App& command, ServeOptions& options, Context& context);

}  // namespace anemone::cli
