// SPDX-License-Identifier: Apache-2.0
#include "engine/loop/embed_loop.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace anemone::engine {
namespace {

// Texts of a step at most, besides the bound on its tokens.
constexpr std::size_t kMaxGroup = 16;

}  // namespace

void EmbedLoop::add(std::shared_ptr<RequestTicket> ticket, EmbedRequest&& request) {
  Job& job = jobs_.emplace_back();
  job.ticket = std::move(ticket);
  job.request = std::move(request);
  for (const auto& text : job.request.texts) job.total += std::ssize(text);
}

std::uint64_t EmbedLoop::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& sequence : spare_) bytes += sequence->bytes();
  for (const Job& job : jobs_)
    for (const auto& text : job.group) bytes += text->sequence->bytes();
  return bytes;
}

bool EmbedLoop::turn(const std::function<void()>& meanwhile) {
  if (jobs_.empty()) return false;
  Job& job = jobs_.front();
  Status status = guarded([&] { return step(job, meanwhile); });
  if (!status.ok())
    end_first(std::move(status));
  else if (job.embeddings.size() == job.request.texts.size())
    end_first(std::move(job.embeddings));
  else
    jobs_.splice(jobs_.end(), jobs_, jobs_.begin());
  if (jobs_.empty()) spare_.clear();
  return true;
}

Status EmbedLoop::step(Job& job, const std::function<void()>& meanwhile) {
  if (job.ticket->is_cancelled()) {
    job.ticket->was_cancelled = true;
    return cancelled("[input] was cancelled");
  }
  if (job.group.empty()) ANEMONE_RETURN_IF_ERROR(begin_group(job));
  std::vector<StepItem> items;
  for (const auto& text : job.group) {
    text->sequence->prepare(std::ssize(text->ids));
    const auto rest = text->ids.subspan(static_cast<std::size_t>(text->sequence->position()));
    if (rest.empty()) continue;
    items.push_back({text->sequence.get(), rest});
    items.back().on_hidden = &text->on_hidden;
  }
  if (runner_ == nullptr) runner_ = std::make_unique<StepRunner>(model_);
  runner_->step(items, &meanwhile);
  for (const StepItem& item : items) {
    ANEMONE_RETURN_IF_ERROR(item.status);
    job.done += item.done;
  }
  if (std::ranges::all_of(job.group, [](const auto& text) { return text->is_done(); }))
    ANEMONE_RETURN_IF_ERROR(end_group(job));
  if (job.request.on_progress) job.request.on_progress(job.done, job.total);
  return {};
}

Status EmbedLoop::begin_group(Job& job) {
  ANEMONE_RETURN_IF_ERROR(model_->check_gives_hidden());
  const std::uint64_t most_bytes = Sequence::cache_bytes(*model_, model_->context());
  std::int64_t tokens = 0;
  std::uint64_t bytes = 0;
  for (std::size_t i = job.embeddings.size();
       i < job.request.texts.size() && job.group.size() < kMaxGroup; ++i) {
    const std::vector<std::int32_t>& ids = job.request.texts[i];
    tokens += std::ssize(ids);
    bytes += Sequence::cache_bytes(*model_, std::ssize(ids));
    // One text at least; the caches of several stay below those of one of the whole context.
    if (!job.group.empty() && (tokens > StepItem::kMaxTokens || bytes > most_bytes)) break;
    ANEMONE_RETURN_IF_ERROR(model_->check_prompt(ids, /*wants_logits=*/false));
    ANEMONE_ASSIGN_OR_RETURN(auto sequence, take_sequence());
    auto text = std::make_unique<Text>(
        Text{std::move(sequence), ids, Pooler(job.request.pooling), HiddenCallback()});
    text->on_hidden = [&pooler = text->pooler](std::int64_t /*position*/,
                                               std::span<const float> hidden) -> Status {
      pooler.add(hidden);
      return {};
    };
    job.group.push_back(std::move(text));
  }
  return {};
}

Status EmbedLoop::end_group(Job& job) {
  for (const auto& text : job.group) {
    job.embeddings.push_back(text->pooler.finish());
    if (!std::ranges::all_of(job.embeddings.back(), [](float v) { return std::isfinite(v); }))
      return corrupt("[{}] the hidden states of a text cannot be used: they overflow",
                     model_->manifest().name);
    text->sequence->clear();
    spare_.push_back(std::move(text->sequence));
  }
  job.group.clear();
  return {};
}

Result<std::unique_ptr<Sequence>> EmbedLoop::take_sequence() {
  if (spare_.empty()) return Sequence::create(model_);
  std::unique_ptr<Sequence> sequence = std::move(spare_.back());
  spare_.pop_back();
  return sequence;
}

void EmbedLoop::end_first(Result<std::vector<std::vector<float>>> result) {
  std::list<Job> ended;
  ended.splice(ended.end(), jobs_, jobs_.begin());
  Job& job = ended.front();
  --job.ticket->open;
  tell(job.request.on_end, std::move(result));
}

}  // namespace anemone::engine
