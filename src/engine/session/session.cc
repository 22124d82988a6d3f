// SPDX-License-Identifier: Apache-2.0
#include "engine/session/session.h"

#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace anemone::engine {

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Model> model) {
  ANEMONE_ASSIGN_OR_RETURN(auto sequence, Sequence::create(std::move(model)));
  return std::unique_ptr<Session>(new Session(std::move(sequence)));
}

Status Session::prepare(std::int64_t length, const std::atomic<bool>* cancel) {
  const std::vector<std::int32_t> before = tokens();
  sequence_->prepare(length);
  if (position() == static_cast<std::int64_t>(before.size())) return {};
  PrefillOptions options;
  options.cancel = cancel;
  return run(before, options);
}

Status Session::check(std::span<const std::int32_t> ids, const PrefillOptions& options) const {
  if (options.on_hidden) ANEMONE_RETURN_IF_ERROR(model().check_gives_hidden());
  return model().check_prompt(ids, static_cast<bool>(options.on_logits));
}

Status Session::run(std::span<const std::int32_t> ids, const PrefillOptions& options) {
  const auto total = static_cast<std::int64_t>(ids.size());
  for (std::int64_t done = 0; done < total;) {
    if (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed))
      return cancelled("[prompt] cancelled after {} of {} tokens", done, total);
    StepItem item{sequence_.get(), ids.subspan(static_cast<std::size_t>(done))};
    if (options.on_logits) item.on_logits = &options.on_logits;
    if (options.on_hidden) item.on_hidden = &options.on_hidden;
    runner_.step({&item, 1});
    ANEMONE_RETURN_IF_ERROR(item.status);
    done += item.done;
    if (options.on_progress) options.on_progress(done, total);
  }
  return {};
}

Status Session::prefill(std::span<const std::int32_t> ids, const PrefillOptions& options) {
  ANEMONE_RETURN_IF_ERROR(check(ids, options));
  const auto length = position() + static_cast<std::int64_t>(ids.size());
  if (length > model().context())
    return invalid_argument(
        "[{}] expected at most {} tokens (the context of the compiled model), got {}",
        model().manifest().name, model().context(), length);
  ANEMONE_RETURN_IF_ERROR(prepare(length, options.cancel));
  return run(ids, options);
}

Result<std::int64_t> Session::prefill_to(std::span<const std::int32_t> ids,
                                         const PrefillOptions& options) {
  ANEMONE_RETURN_IF_ERROR(check(ids, options));
  const bool is_whole = options.on_logits || options.on_hidden;
  const std::int64_t kept = is_whole ? 0 : sequence_->reusable(ids);
  sequence_->truncate(kept);
  sequence_->prepare(static_cast<std::int64_t>(ids.size()));
  ANEMONE_RETURN_IF_ERROR(run(ids.subspan(static_cast<std::size_t>(kept)), options));
  return kept;
}

Result<std::span<const float>> Session::decode(std::int32_t id) {
  ANEMONE_RETURN_IF_ERROR(prefill({&id, 1}));
  return logits();
}

Status Session::truncate(std::int64_t position) {
  if (position < 0 || position > this->position())
    return invalid_argument("[session] expected a position from 0 to {}, got {}", this->position(),
                            position);
  const std::vector<std::int32_t> kept(tokens().begin(), tokens().begin() + position);
  sequence_->truncate(position);
  if (sequence_->position() == position) return {};
  sequence_->prepare(position);
  return run(kept, {});
}

Status decode_batch(std::span<const DecodeStep> steps) {
  std::vector<StepItem> items;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Session& session = *steps[i].session;
    const Model& model = session.model();
    if (&model != &steps[0].session->model())
      return invalid_argument("[session {}] expected all sessions to be of one model", i);
    for (std::size_t k = 0; k < i; ++k)
      if (steps[k].session == &session)
        return invalid_argument("[session {}] expected each session once, got it twice", i);
    ANEMONE_RETURN_IF_ERROR(model.check_id(steps[i].id));
    if (session.position() == model.context())
      return invalid_argument(
          "[{}] expected at most {} tokens (the context of the compiled model), got {}",
          model.manifest().name, model.context(), session.position() + 1);
    items.push_back({session.sequence_.get(), {&steps[i].id, 1}});
  }
  for (const DecodeStep& step : steps)
    ANEMONE_RETURN_IF_ERROR(step.session->prepare(step.session->position() + 1, nullptr));
  // Any runner of the model runs any of its sequences.
  if (!items.empty()) steps[0].session->runner_.step(items);
  for (const StepItem& item : items) ANEMONE_RETURN_IF_ERROR(item.status);
  return {};
}

}  // namespace anemone::engine
