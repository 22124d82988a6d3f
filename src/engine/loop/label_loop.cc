// SPDX-License-Identifier: Apache-2.0
#include "engine/loop/label_loop.h"

#include <utility>

#include "base/error.h"

namespace anemone::engine {

void LabelLoop::add(std::shared_ptr<RequestTicket> ticket, LabelRequest&& request) {
  Job& job = jobs_.emplace_back();
  job.ticket = std::move(ticket);
  job.request = std::move(request);
  for (const auto& text : job.request.texts) job.total += std::ssize(text);
}

bool LabelLoop::turn() {
  if (jobs_.empty()) return false;
  Job& job = jobs_.front();
  Status status = guarded([&] { return run_window(job); });
  if (!status.ok())
    end_first(std::move(status));
  else if (job.logits.size() == job.request.texts.size())
    end_first(std::move(job.logits));
  else
    jobs_.splice(jobs_.end(), jobs_, jobs_.begin());
  return true;
}

Status LabelLoop::run_window(Job& job) {
  if (job.ticket->is_cancelled()) {
    job.ticket->was_cancelled = true;
    return cancelled("[text] was cancelled");
  }
  if (classifier_ == nullptr) {
    ANEMONE_ASSIGN_OR_RETURN(classifier_, Classifier::create(model_));
  }
  if (job.labelling == nullptr) {
    ANEMONE_ASSIGN_OR_RETURN(auto labelling,
                             classifier_->start(job.request.texts[job.logits.size()]));
    job.labelling = std::make_unique<Labelling>(std::move(labelling));
  }
  ANEMONE_RETURN_IF_ERROR(classifier_->run_window(*job.labelling));
  const std::int64_t done = job.done + job.labelling->done;
  if (job.labelling->is_done()) {
    job.done = done;
    job.logits.push_back(std::move(job.labelling->logits));
    job.labelling.reset();
  }
  if (job.request.on_progress) job.request.on_progress(done, job.total);
  return {};
}

void LabelLoop::end_first(Result<LabelRequest::Logits> result) {
  std::list<Job> ended;
  ended.splice(ended.end(), jobs_, jobs_.begin());
  Job& job = ended.front();
  --job.ticket->open;
  tell(job.request.on_end, std::move(result));
}

}  // namespace anemone::engine
