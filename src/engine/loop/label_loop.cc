// SPDX-License-Identifier: Apache-2.0
#include "engine/loop/label_loop.h"

#include <utility>

#include "base/error.h"

namespace anemone::engine {

void LabelLoop::add(std::shared_ptr<RequestTicket> ticket, LabelRequest&& request) {
  Text& text = texts_.emplace_back();
  text.ticket = std::move(ticket);
  text.request = std::move(request);
}

bool LabelLoop::turn() {
  if (texts_.empty()) return false;
  Text& text = texts_.front();
  Status status = guarded([&] { return run_window(text); });
  if (!status.ok())
    end_first(std::move(status));
  else if (text.labelling->is_done())
    end_first(std::move(text.labelling->logits));
  return true;
}

Status LabelLoop::run_window(Text& text) {
  if (text.ticket->is_cancelled()) {
    text.ticket->was_cancelled = true;
    return cancelled("[text] was cancelled");
  }
  if (classifier_ == nullptr) {
    ANEMONE_ASSIGN_OR_RETURN(classifier_, Classifier::create(model_));
  }
  if (text.labelling == nullptr) {
    ANEMONE_ASSIGN_OR_RETURN(auto labelling, classifier_->start(text.request.ids));
    text.labelling = std::make_unique<Labelling>(std::move(labelling));
  }
  ANEMONE_RETURN_IF_ERROR(classifier_->run_window(*text.labelling));
  if (text.request.on_progress)
    text.request.on_progress(text.labelling->done,
                             static_cast<std::int64_t>(text.labelling->ids.size()));
  return {};
}

void LabelLoop::end_first(Result<std::vector<float>> result) {
  Text text = std::move(texts_.front());
  texts_.pop_front();
  --text.ticket->open;
  tell(text.request.on_end, std::move(result));
}

}  // namespace anemone::engine
