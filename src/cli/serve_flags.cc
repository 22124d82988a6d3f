// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_flags.h"

#include "cli/model_folder.h"
#include "cli/number_range.h"
#include "cli/placement.h"

namespace anemone::cli {

void add_serve_flags(CLI::App& command, ServeOptions& options, Context& context) {
  serve::OpenAiServerOptions& server = options.server;
  command.add_option("MODEL", options.models, "Artifact or checkpoint folders, or GGUF files")
      ->required();
  command
      .add_option("--alias", options.aliases,
                  "Model names for clients, A,B,C: several names of one model, or one name per "
                  "model\n(default: the folder's name)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("--models-max", options.models_max,
                  "Models in memory at a time: a further one takes the place of the one that was\n"
                  "not used for longest (default: all)")
      ->check(whole_numbers(1, 1 << 20));
  command.add_option("--models-memory", options.models_memory,
                     "Models in memory at a time have files of at most this size together, as in\n"
                     "8gb (default: no bound)");
  command.add_option("--keep-alive", options.keep_alive,
                     "Unload a model after this time without a request, 300, 5m or 1h; the next\n"
                     "request loads it again (default: never)");
  command.add_flag("--lazy", options.is_lazy,
                   "Load each model when the first request asks for it, not at the start");
  command
      .add_option("-c,--context", options.context,
                  "Tokens that a checkpoint or GGUF file is compiled for, as 4k (default: 2048 or\n"
                  "the model's maximum)")
      ->transform(token_counts(1, std::int64_t{1} << 24));
  CLI::Option* host = command.add_option("--host", server.http.host,
                                         "Address to listen on (default: this machine alone)");
  CLI::Option* port = command.add_option("--port", server.http.port, "Port; 0: any free one")
                          ->check(whole_numbers(0, 65535))
                          ->capture_default_str();
  CLI::Option* key = command.add_option(
      "--api-key", options.key.text,
      "Key that clients must send; all users of this machine can see it (default: "
      "ANEMONE_API_KEY of the environment, else none is needed)");
  CLI::Option* key_file =
      command
          .add_option("--api-key-file", options.key.file,
                      "File of keys, one per line, of which clients must send one; after a key,\n"
                      "concurrency=4 and rate=60/min limit its requests; # begins a comment")
          ->excludes(key);
  CLI::Option* allowed =
      command
          .add_option("--allowed-host", server.allowed_hosts,
                      "Name that the Host header of a request may have (repeatable)")
          ->allow_extra_args(false);
  CLI::Option* cors =
      command
          .add_option("--cors", server.cors_origins,
                      "Origin of web pages that may use the server, or * (repeatable)")
          ->allow_extra_args(false);
  CLI::Option* queue =
      command
          .add_option("--queue", server.engine.queue,
                      "Requests that may wait; further ones are refused with status 429")
          ->check(whole_numbers(0, 1 << 20))
          ->capture_default_str();
  CLI::Option* strict =
      command.add_flag("--strict-model", server.is_strict_model,
                       "Refuse requests of models with another name (default: a server of one\n"
                       "model answers all with it)");
  CLI::Option* pooling =
      command
          .add_option("--pooling", options.pooling,
                      "Embeddings of requests that do not say: last (token) or mean")
          ->capture_default_str();
  context.words[pooling] = {{"last", "mean"}};
  context.words[command
                    .add_option("--log-format", options.log_format,
                                "The lines on stderr, one per request of HTTP and per load of a "
                                "model: text,\njson or none")
                    ->capture_default_str()] = {{"text", "json", "none"}};
  CLI::Option* ready = command.add_option("--ready-file", options.ready_file,
                                          "File to write the address to once the server listens");
  command
      .add_option("--parallel", options.sequences,
                  "Texts that are made at a time (default: as many as the memory for caches\n"
                  "takes, at most 16)")
      ->check(whole_numbers(1, 256));
  command
      .add_option("--cache-memory", options.cache_mb,
                  "Megabytes for the caches of texts, those that have ended included: a prompt\n"
                  "that begins like one of them is not read again (default: a quarter of the\n"
                  "memory)")
      ->check(whole_numbers(1, std::int64_t{1} << 24));
  command
      .add_option("--max-tokens", server.defaults.max_tokens,
                  "Most tokens of an answer (default: what the request says, else the context)")
      ->check(at_least(1));
  command
      .add_option("--temperature", server.defaults.temperature,
                  "Temperature of requests that set none (default: the model's)")
      ->check(numbers(0.0, 2.0));
  command.add_option("--seed", server.defaults.seed, "Seed of requests that set none")
      ->check(seeds());
  command.add_option("--chat-template-file", options.chat_template_file,
                     "Chat template (Jinja) instead of the models' own");
  add_check_hashes_flag(command, options.checks_hashes);
  add_require_ane_flag(command, options.requires_ane);
  add_draft_flags(command, options.drafts);
  CLI::Option* http_socket = command.add_option(
      "--http-socket", server.http.socket_path,
      "Serve HTTP on a Unix socket at this path, on no port: for this user alone");
  CLI::Option* tls_certificate = command.add_option(
      "--tls-cert", options.tls_certificate,
      "Serve HTTPS with the certificates in this file (PEM, the server's first)");
  CLI::Option* tls_key = command
                             .add_option("--tls-key", options.tls_key,
                                         "The private key of the first one (PEM, no passphrase)")
                             ->needs(tls_certificate);
  tls_certificate->needs(tls_key);
  for (CLI::Option* other : {host, port, tls_certificate, tls_key}) http_socket->excludes(other);
  CLI::Option* socket = command.add_option(
      "--socket", options.socket, "Serve JSON lines on a Unix socket at this path, no HTTP");
  CLI::Option* lines = command.add_flag("--stdin", options.is_stdin,
                                        "Serve JSON lines on stdin and stdout, no HTTP");
  for (CLI::Option* other : {host, port, http_socket, tls_certificate, tls_key, key, key_file,
                             allowed, cors, queue, strict, pooling, ready}) {
    socket->excludes(other);
    lines->excludes(other);
  }
  socket->excludes(lines);
}

}  // namespace anemone::cli
