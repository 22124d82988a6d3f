// SPDX-License-Identifier: Apache-2.0
// The protocol "anemone-jsonl-v1": one JSON request per line, one JSON answer per line.
//
//   {"prompt_ids": [...]} or {"prompt": "..."} or {"messages": [...]}, and
//   "max_new", "temperature", "top_k", "top_p", "min_p", "rep_penalty", "seed", "stop",
//   "stop_repeat_ngram", "ignore_eos", "model", "profile" (taken, without effect), and
//   "reset": false adds the prompt to what the session holds instead of starting anew
//   -> {"ok": true, "generated_ids", "text", "finish_reason", "timing": {"prefill_tokens",
//       "prefill_s", "decode_tokens", "decode_s", "decode_tok_s"}, "cache_seq_len"}
//   -> {"ok": false, "error"}
//
//   {"tokens": [...], "max_tokens"}
//   -> {"output", "prefill_tps", "decode_tps", "prompt_tokens", "gen_tokens"}
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/work_budget.h"
#include "engine/session/session.h"
#include "serve/jsonl/request.h"
#include "serve/served_model.h"

namespace anemone::serve::jsonl {

inline constexpr std::string_view kProtocol = "anemone-jsonl-v1";

// The first line on stdout: {"ready": true, "protocol", "transport": "stdio" or "unix-socket",
// "path" of the socket, "models"}.
Json ready_line(const ModelSet& models, std::string_view socket_path);
Json error_answer(const Status& status);

// One client: a session for each model that it uses. Single-thread.
class Connection {
 public:
  // The models outlive the connection. Preparation and generation poll `cancel`; generation calls
  // `on_step`, which may set it, between its steps. `budget` is that of one request, for all that
  // is done before its prompt is read.
  Connection(const ModelSet& models, RequestDefaults defaults, const std::atomic<bool>& cancel,
             std::function<void()> on_step, const WorkBudget::Limits& budget = {})
      : models_(models),
        defaults_(defaults),
        cancel_(cancel),
        on_step_(std::move(on_step)),
        budget_(budget) {}

  // The answer to one line; what is wrong with it is in the answer.
  Json answer(std::string_view line);

 private:
  Result<Json> run(std::string_view line);
  Result<engine::Session*> session_of(const std::shared_ptr<const engine::Model>& model);

  const ModelSet& models_;
  const RequestDefaults defaults_;
  const std::atomic<bool>& cancel_;
  std::function<void()> on_step_;
  const WorkBudget::Limits budget_;
  std::map<const engine::Model*, std::unique_ptr<engine::Session>> sessions_;
};

}  // namespace anemone::serve::jsonl
