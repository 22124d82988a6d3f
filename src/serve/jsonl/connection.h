// SPDX-License-Identifier: Apache-2.0
// The protocol "anemone-jsonl-v1": one JSON request per line, one JSON answer per line.
//
//   {"prompt_ids": [...]} or {"prompt": "..."} or {"messages": [...]}, and
//   "max_new" (or "max_tokens"), "greedy", "temperature", "top_k", "top_p", "min_p", "rep_penalty",
//   "seed", "stop", "stop_repeat_ngram", "ignore_eos", "model" (needed where there are several),
//   "keep_alive" (how long the model then stays loaded without requests),
//   "structured_cot" (the manifest of an answer in stages) or another form of the answer,
//   "profile" (taken, without effect), and
//   "reset": false adds the prompt to the text so far instead of starting anew;
//   "stream": true has lines {"delta": "..."} with the text as it comes before the answer
//   -> {"ok": true, "generated_ids", "text", "finish_reason", "timing": {"prompt_tokens",
//       "prefill_tokens" (of them those that were not cached), "prefill_s", "decode_tokens",
//       "decode_s", "decode_tok_s"}, "cache_seq_len", "model", "seed" of a sampled text, "stop"
//       that ended it, "structured_cot" of an answer in stages (stage_counts.h)}
//   -> {"ok": false, "error", "code": as code_name() has it}
//
//   The form of dev-erik/ANE's server, for its clients; errors are answered as above:
//   {"tokens": [...], "max_tokens"}
//   -> {"output", "prefill_tps", "decode_tps", "prompt_tokens", "gen_tokens"}
//
//   {"describe": "name of a model"}
//   -> {"ok": true, "model", "context", "has_tokenizer", "has_chat_template", "labels_tokens",
//       "manifest_sha256": of its manifest.json}
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/work_budget.h"
#include "engine/generation/text_request.h"
#include "engine/loop/engine.h"
#include "serve/jsonl/request.h"
#include "serve/model_pool.h"

namespace anemone::serve::jsonl {

inline constexpr std::string_view kProtocol = "anemone-jsonl-v1";

// The first line on stdout: {"ready": true, "protocol", "transport": "stdio" or "unix-socket",
// "path" of the socket, "models"}.
Json ready_line(const ModelPool& models, std::string_view socket_path);
Json error_answer(const Status& status);

// One client. For each model that it uses, the connection keeps a text: the tokens of the prompts
// and answers so far, which a request with "reset": false continues. Single-thread.
class Connection {
 public:
  // Sends a line before the answer; an error of it ends the request.
  using Send = std::function<Status(const Json&)>;

  // Models and engine outlive the connection; another thread runs the engine's turns. A request
  // ends soon after `cancel` is set. `look` is called again and again while a model loads and while
  // an answer is made; it may set `cancel`, for example when the client is gone. `send` is called
  // on the thread of answer(). `budget` limits what is done for one request before the model runs:
  // JSON, chat template, tokenizer.
  Connection(ModelPool& models, engine::Engine& engine, engine::RequestDefaults defaults,
             const std::atomic<bool>& cancel, std::function<void()> look, Send send,
             const WorkBudget::Limits& budget = {})
      : models_(models),
        engine_(engine),
        defaults_(defaults),
        cancel_(cancel),
        look_(std::move(look)),
        send_(std::move(send)),
        budget_(budget) {}

  // The answer to one line; what is wrong with it is in the answer.
  Json answer(std::string_view line);

 private:
  Result<Json> run(std::string_view line);
  // Loads the model, if it is not loaded.
  Result<ModelLease> lease(std::size_t model);
  Result<Json> describe(std::string_view name);
  // Has the engine generate a text, streams it if the request asks for that, and waits for the end.
  Result<engine::GenerateResult> generate(const std::shared_ptr<const engine::Model>& model,
                                          std::vector<std::int32_t> prompt,
                                          engine::GenerateOptions options, bool is_streamed);

  ModelPool& models_;
  engine::Engine& engine_;
  const engine::RequestDefaults defaults_;
  const std::atomic<bool>& cancel_;
  std::function<void()> look_;
  const Send send_;
  const WorkBudget::Limits budget_;
  // By the index of the model in the pool: the tokens of its text that the model has run on. The
  // last token of an answer is not among them: it was picked, and the next request runs it.
  std::map<std::size_t, std::vector<std::int32_t>> texts_;
};

}  // namespace anemone::serve::jsonl
