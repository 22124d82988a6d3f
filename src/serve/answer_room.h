// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "engine/loop/engine.h"
#include "serve/http/message.h"

namespace anemone::serve {

// The error of an answer that finds no room among those that the server is writing; `advice` says
// what the client can do: "use \"stream\"".
Status no_room_for_answer(std::string_view advice);

// The memory that one answer takes while it is made, counted with that of all answers. Once it was
// refused more, it stays so. Used by one thread at a time.
class AnswerRoom {
 public:
  // `advice` is a literal.
  AnswerRoom(std::shared_ptr<Responder> responder, std::string_view advice)
      : responder_(std::move(responder)), advice_(advice) {}

  // Counts what was added to the answer. The error of no_room_for_answer() from the first time on
  // that there was no room.
  Status charge(std::size_t bytes);
  // Counts what was taken from the answer.
  void discharge(std::size_t bytes);
  // A piece of the answer found no room on its way out.
  Status overdraw();
  const Status& status() const { return status_; }

 private:
  const std::shared_ptr<Responder> responder_;
  const std::string_view advice_;
  std::size_t held_ = 0;
  Status status_;
};

// Submits a request with this cancel flag, which is set when its client goes away.
template <typename EngineRequest>
Status submit_for(const std::shared_ptr<Responder>& responder, engine::Engine& engine,
                  EngineRequest request, const std::shared_ptr<std::atomic<bool>>& cancel) {
  request.cancel = cancel;
  ANEMONE_RETURN_IF_ERROR(engine.submit(std::move(request)));
  // Weak: what holds the flag may hold the responder.
  responder->on_disconnect([weak = std::weak_ptr(cancel)] {
    if (const auto alive = weak.lock()) *alive = true;
  });
  return {};
}

}  // namespace anemone::serve
