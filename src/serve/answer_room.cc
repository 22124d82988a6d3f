// SPDX-License-Identifier: Apache-2.0
#include "serve/answer_room.h"

#include "base/error.h"

namespace anemone::serve {

Status no_room_for_answer(std::string_view advice) {
  return out_of_memory(
      "[answer] the answers that the server is writing need more memory than they may take: {}",
      advice);
}

Status AnswerRoom::charge(std::size_t bytes) {
  if (!status_.ok()) return status_;
  if (!responder_->hold(held_ + bytes)) return overdraw();
  held_ += bytes;
  return {};
}

void AnswerRoom::discharge(std::size_t bytes) {
  held_ -= bytes;
  responder_->hold(held_);
}

Status AnswerRoom::overdraw() {
  return status_ = no_room_for_answer(advice_);
}

}  // namespace anemone::serve
