// SPDX-License-Identifier: Apache-2.0
#include "engine/session/session.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace anemone::engine {
namespace {

// Tokens of a step at most, in chunks of a function's width: enough for the weights to be read
// seldom, few enough to be stopped between steps.
constexpr std::int64_t kStepTokens = 512;

}  // namespace

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Model> model) {
  ANEMONE_RETURN_IF_ERROR(model->check_generates());
  std::unique_ptr<Session> session(new Session(std::move(model)));
  ANEMONE_ASSIGN_OR_RETURN(session->caches_, KvCache::make(*session->model_));
  return session;
}

Session::Session(std::shared_ptr<const Model> model) : model_(std::move(model)) {
  const artifact::Manifest& manifest = model_->manifest();
  for (const artifact::Shard& shard : manifest.shards)
    for (const artifact::Cache& cache : shard.caches)
      has_recurrent_ = has_recurrent_ || cache.is_recurrent;
  logits_buffer_.resize(static_cast<std::size_t>(manifest.vocab_size));
  for (const FunctionPlan& plan : model_->functions()) buckets_.emplace_back(*model_, plan);
}

Status Session::check_room(std::int64_t count) const {
  if (count <= model_->context() - position()) return {};
  return invalid_argument("[{}] expected at most {} tokens (the context), got {}",
                          model_->manifest().name, model_->context(), position() + count);
}

void Session::forget_logits() {
  logits_ = {};
  argmax_.reset();
}

// The function that takes most of the remaining tokens with the least to compute: the narrowest
// that takes all of them, else the widest, over the smallest context that holds them.
Session::BucketChoice Session::choose(std::int64_t position, std::int64_t remaining) {
  struct Cost {
    std::int64_t left;  // tokens for later steps
    std::int64_t width;
    std::int64_t context;
    auto operator<=>(const Cost&) const = default;
  };
  BucketChoice best;
  Cost least{};
  for (Bucket& bucket : buckets_) {
    const std::int64_t count = std::min(remaining, bucket.max_width());
    if (position + count > bucket.plan().context) continue;
    const Cost cost{remaining - count, bucket.is_flexible() ? count : bucket.max_width(),
                    bucket.plan().context};
    if (best.bucket != nullptr && cost >= least) continue;
    best = {&bucket, cost.width, count};
    least = cost;
  }
  ANEMONE_CHECK(best.bucket != nullptr);
  return best;
}

Bucket& Session::enter(const BucketChoice& choice) {
  choice.bucket->set_width(choice.width);
  return *choice.bucket;
}

Result<Chunk> Session::make_chunk(Bucket& bucket, std::size_t index,
                                  std::span<const std::int32_t> ids, std::int64_t position) {
  if (index == outputs_.size())
    outputs_.push_back(std::make_unique<StepOutputs>(make_outputs(*model_)));
  return bucket.fill(index, ids, position, length_, caches_, *outputs_[index]);
}

Status Session::prefill(std::span<const std::int32_t> ids, const PrefillOptions& options) {
  forget_logits();
  if (ids.empty()) return invalid_argument("[prompt] expected at least one token, got none");
  if (options.on_logits && model_->manifest().is_greedy())
    return unsupported("[{}] expected a model with logits, got one compiled with --argmax",
                       model_->manifest().name);
  for (const std::int32_t id : ids) ANEMONE_RETURN_IF_ERROR(model_->check_id(id));
  const auto total = static_cast<std::int64_t>(ids.size());
  ANEMONE_RETURN_IF_ERROR(check_room(total));
  ANEMONE_RETURN_IF_ERROR(rebuild(position() + total, options));
  return run_steps(ids, options, true);
}

Status Session::rebuild(std::int64_t length, const PrefillOptions& options) {
  const bool is_valid =
      !needs_rebuild_ && (tokens_.empty() || model_->manifest().has_same_ropes(length_, length));
  length_ = length;
  if (is_valid) return {};
  if (has_recurrent_ || needs_rebuild_) caches_.clear();
  needs_rebuild_ = false;
  const std::vector<std::int32_t> ids = std::exchange(tokens_, {});
  PrefillOptions quiet;
  quiet.cancel = options.cancel;
  return run_steps(ids, quiet, false);
}

Status Session::run_steps(std::span<const std::int32_t> ids, const PrefillOptions& options,
                          bool wants_logits) {
  const auto total = static_cast<std::int64_t>(ids.size());
  for (std::int64_t done = 0; done < total;) {
    if (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed))
      return cancelled("[prompt] cancelled after {} of {} tokens", done, total);
    const auto count = run_step(ids.subspan(static_cast<std::size_t>(done)), options, wants_logits);
    if (!count.ok()) return count.status();
    done += *count;
    if (options.on_progress) options.on_progress(done, total);
  }
  return {};
}

Result<std::int64_t> Session::run_step(std::span<const std::int32_t> ids,
                                       const PrefillOptions& options, bool wants_logits) {
  const auto total = static_cast<std::int64_t>(ids.size());
  const BucketChoice choice = choose(position(), total);
  Bucket& bucket = enter(choice);
  std::vector<Chunk> chunks;
  std::int64_t done = 0;
  std::int64_t count = 0;  // tokens of the last chunk
  for (BucketChoice next = choice; next.bucket == choice.bucket && next.width == choice.width;
       next = choose(position() + done, total - done)) {
    count = next.count;
    ANEMONE_ASSIGN_OR_RETURN(
        const Chunk chunk,
        make_chunk(bucket, chunks.size(),
                   ids.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(count)),
                   position() + done));
    chunks.push_back(chunk);
    done += count;
    if (done == total || done + choice.width > kStepTokens) break;
  }
  // Nobody knows what a run that fails leaves in the caches.
  needs_rebuild_ = true;
  ANEMONE_RETURN_IF_ERROR(run_shards(*model_, bucket.plan(), chunks));
  // Recurrent states are ahead of the tokens until those are added; keys and values beyond the
  // tokens are masked.
  needs_rebuild_ = has_recurrent_;
  const bool is_end = wants_logits && done == total;
  const bool has_logits = is_end || options.on_logits;
  if (options.on_logits)
    ANEMONE_RETURN_IF_ERROR(all_logits(bucket, chunks, done, options));
  else if (is_end)
    ANEMONE_RETURN_IF_ERROR(last_logits(bucket, chunks.back(), count - 1, position() + done - 1));
  add_tokens(ids.first(static_cast<std::size_t>(done)), has_logits);
  return done;
}

void Session::add_tokens(std::span<const std::int32_t> ids, bool has_logits) {
  needs_rebuild_ = false;
  tokens_.insert(tokens_.end(), ids.begin(), ids.end());
  if (has_logits && !model_->manifest().is_greedy()) logits_ = logits_buffer_;
}

Result<std::int64_t> Session::prefill_to(std::span<const std::int32_t> ids,
                                         const PrefillOptions& options) {
  if (ids.empty()) return invalid_argument("[prompt] expected at least one token, got none");
  // Checked before anything is dropped.
  for (const std::int32_t id : ids) ANEMONE_RETURN_IF_ERROR(model_->check_id(id));
  if (static_cast<std::int64_t>(ids.size()) > model_->context())
    return invalid_argument("[prompt] expected at most {} tokens (the context), got {}",
                            model_->context(), ids.size());
  std::size_t kept = 0;
  if (!options.on_logits)
    while (kept < tokens_.size() && kept + 1 < ids.size() && tokens_[kept] == ids[kept]) ++kept;
  if (!model_->manifest().has_same_ropes(length_, static_cast<std::int64_t>(ids.size()))) kept = 0;
  if (needs_rebuild_ || (has_recurrent_ && kept < tokens_.size())) kept = 0;
  ANEMONE_RETURN_IF_ERROR(truncate(static_cast<std::int64_t>(kept)));
  ANEMONE_RETURN_IF_ERROR(prefill(ids.subspan(kept), options));
  return static_cast<std::int64_t>(kept);
}

Result<std::span<const float>> Session::decode(std::int32_t id) {
  forget_logits();
  ANEMONE_RETURN_IF_ERROR(model_->check_id(id));
  ANEMONE_RETURN_IF_ERROR(check_room(1));
  ANEMONE_RETURN_IF_ERROR(rebuild(position() + 1, {}));
  ANEMONE_RETURN_IF_ERROR(run_steps({&id, 1}, {}, true));
  return logits_;
}

Status Session::truncate(std::int64_t position) {
  if (position < 0 || position > this->position())
    return invalid_argument("[session] expected a position from 0 to {}, got {}", this->position(),
                            position);
  if (position < this->position()) {
    forget_logits();
    needs_rebuild_ = needs_rebuild_ || has_recurrent_;
  }
  // The positions beyond are masked from now on, and overwritten before they are shown again.
  tokens_.resize(static_cast<std::size_t>(position));
  return {};
}

void Session::reset() {
  tokens_.clear();
  forget_logits();
  caches_.clear();
  needs_rebuild_ = false;
}

Status decode_batch(std::span<const DecodeStep> steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Session& session = *steps[i].session;
    if (session.model_ != steps[0].session->model_)
      return invalid_argument("[session {}] expected all sessions to be of one model", i);
    for (std::size_t k = 0; k < i; ++k)
      if (steps[k].session == &session)
        return invalid_argument("[session {}] expected each session once, got it twice", i);
    ANEMONE_RETURN_IF_ERROR(session.model_->check_id(steps[i].id));
    ANEMONE_RETURN_IF_ERROR(session.check_room(1));
  }
  for (const DecodeStep& step : steps) {
    step.session->forget_logits();
    ANEMONE_RETURN_IF_ERROR(step.session->rebuild(step.session->position() + 1, {}));
  }
  // Sessions whose tokens are in the same tier of the context are batched.
  std::vector<bool> is_done(steps.size());
  for (std::size_t first = 0; first < steps.size(); ++first) {
    if (is_done[first]) continue;
    const FunctionPlan* plan = nullptr;
    std::vector<const DecodeStep*> group;
    std::vector<Chunk> chunks;
    for (std::size_t i = first; i < steps.size(); ++i) {
      Session& session = *steps[i].session;
      Bucket& bucket = session.enter(session.choose(session.position(), 1));
      if (plan == nullptr) plan = &bucket.plan();
      if (is_done[i] || &bucket.plan() != plan) continue;
      is_done[i] = true;
      group.push_back(&steps[i]);
      ANEMONE_ASSIGN_OR_RETURN(
          const Chunk chunk, session.make_chunk(bucket, 0, {&steps[i].id, 1}, session.position()));
      chunks.push_back(chunk);
    }
    const Model& model = *steps[0].session->model_;
    // As in run_step().
    for (const DecodeStep* step : group) step->session->needs_rebuild_ = true;
    ANEMONE_RETURN_IF_ERROR(run_shards(model, *plan, chunks));
    for (const DecodeStep* step : group)
      step->session->needs_rebuild_ = step->session->has_recurrent_;
    ANEMONE_RETURN_IF_ERROR(run_heads(model, plan->head_function, 1, chunks));
    for (std::size_t i = 0; i < group.size(); ++i) {
      Session& session = *group[i]->session;
      ANEMONE_RETURN_IF_ERROR(session.gather(chunks[i], session.position()));
      session.add_tokens({&group[i]->id, 1}, true);
    }
  }
  return {};
}

}  // namespace anemone::engine
