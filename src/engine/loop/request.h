// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine/embedding/pooling.h"
#include "engine/generation/generation.h"
#include "engine/loop/guarded.h"
#include "engine/model/model.h"
#include "engine/speculation/speculator.h"

namespace anemone::engine {

// Ends a request within one step when it is set, on any thread. May be null.
using CancelFlag = std::shared_ptr<const std::atomic<bool>>;

// One text that a client wants. The callbacks, those of the options included, run on the thread of
// the engine's turns; the end of a text that had not begun also on that of Engine::close(). They do
// not block, since nothing else runs meanwhile.
struct Choice {
  std::vector<std::int32_t> prompt;
  GenerateOptions options;
  // Called once, after all others. A text that was cancelled has that finish reason; one that had
  // not begun when the engine was closed is kCancelled.
  std::function<void(Result<GenerateResult>)> on_end;
};

// The result of a text that was cancelled before it began.
GenerateResult cancelled_result(const Choice& choice);
// Bytes of the caches of a text at its greatest length, those of a draft model included.
std::uint64_t reserved_bytes(const Model& model, const Choice& choice,
                             const SpeculationOptions& speculation);

// One request of a client. Its choices run together where there are free slots; equal prompts are
// read once.
struct Request {
  std::shared_ptr<const Model> model;  // one that generates
  std::vector<Choice> choices;         // at least one
  CancelFlag cancel;
};

// The labels of texts.
struct LabelRequest {
  using Logits = std::vector<std::vector<float>>;  // of each text [tokens, labels]
  std::shared_ptr<const Model> model;              // one that labels tokens
  std::vector<std::vector<std::int32_t>> texts;    // at least one
  // Called after every window, with the tokens of all texts.
  std::function<void(std::int64_t done, std::int64_t total)> on_progress;
  // Called once; kCancelled when it was cancelled.
  std::function<void(Result<Logits>)> on_end;
  CancelFlag cancel;
};

// The embeddings of texts: the hidden states after the final norm of each, pooled to one vector of
// length 1 (pooling.h).
struct EmbedRequest {
  using Embeddings = std::vector<std::vector<float>>;  // [texts, hidden_size]
  std::shared_ptr<const Model> model;                  // one that gives hidden states
  // At least one. One that the model cannot take (Model::check_prompt) ends the request with its
  // error.
  std::vector<std::vector<std::int32_t>> texts;
  Pooling pooling = Pooling::kLast;
  // Called after every step, with the tokens of all texts.
  std::function<void(std::int64_t done, std::int64_t total)> on_progress;
  // Called once; kCancelled when it was cancelled.
  std::function<void(Result<Embeddings>)> on_end;
  CancelFlag cancel;
};

// State of a request in the engine.
struct RequestTicket {
  std::size_t open = 0;                     // texts that have not ended; for the engine thread
  bool has_begun = false;                   // one of its texts; guarded by the engine's mutex
  CancelFlag cancel;                        // of the client
  std::atomic<bool> was_cancelled = false;  // by the engine, or when a text ended so
  // Then all its texts end.
  bool is_cancelled() const { return was_cancelled || (cancel != nullptr && *cancel); }
};

// Tells a client how its text ended. One that cannot take it for want of memory frees what it has
// when the request goes away.
template <typename Value>
void tell(const std::function<void(Result<Value>)>& on_end, Result<Value> result) noexcept {
  const Status told = guarded([&]() -> Status {
    on_end(std::move(result));
    return {};
  });
  static_cast<void>(told);
}

}  // namespace anemone::engine
