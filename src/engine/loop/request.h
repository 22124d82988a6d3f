// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/generation/generation.h"
#include "engine/model/model.h"
#include "engine/session/classifier.h"

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

// What a text ends with that is cancelled before it has begun.
GenerateResult cancelled_result(const Choice& choice);

// What a client asks for at once: the choices run together as there is room, each prompt is read
// once.
struct Request {
  std::shared_ptr<const Model> model;  // one that generates
  std::vector<Choice> choices;         // at least one
  CancelFlag cancel;
};

// The labels of a text.
struct LabelRequest {
  std::shared_ptr<const Model> model;  // one that labels tokens
  std::vector<std::int32_t> ids;
  // Called after every window.
  std::function<void(std::int64_t done, std::int64_t total)> on_progress;
  // Called once, with the logits [tokens, labels]; kCancelled when it was cancelled.
  std::function<void(Result<std::vector<float>>)> on_end;
  CancelFlag cancel;
};

}  // namespace anemone::engine
