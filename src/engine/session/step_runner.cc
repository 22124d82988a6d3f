// SPDX-License-Identifier: Apache-2.0
#include "engine/session/step_runner.h"

#include <algorithm>
#include <compare>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace anemone::engine {
namespace {

// Tokens of an item in a step at most, or one chunk, where heads inside the package of the last
// layers give the logits of all of them: those take memory until the step ends, 19 MB for 64 tokens
// and a vocabulary of 151,936.
constexpr std::int64_t kMaxTokensWithLogits = 64;
static_assert(kMaxTokensWithLogits >= StepItem::kMaxVerified);

}  // namespace

StepRunner::StepRunner(std::shared_ptr<const Model> model, StepObserver* observer)
    : model_(std::move(model)), observer_(observer) {
  for (const FunctionPlan& plan : model_->functions()) buckets_.emplace_back(*model_, plan);
}

// The function that takes most of the remaining tokens with the least to compute: the narrowest
// that takes all of them, else the widest, over the smallest context that holds them.
StepRunner::BucketChoice StepRunner::choose(std::int64_t position, std::int64_t remaining) {
  struct Cost {
    std::int64_t left;  // tokens for later chunks
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

StepRunner::BucketChoice StepRunner::choose(const StepItem& item, std::int64_t done) {
  if (item.predictions > 1) return choose_verifying(item, done);
  return choose(item.sequence->position() + done, std::ssize(item.ids) - done);
}

// Where an executor reads the weights once for all chunks, each token is a chunk of its own: it
// goes with the texts that run one token, and nothing is computed for padding. Otherwise one chunk
// takes all tokens, if there is a function for that.
StepRunner::BucketChoice StepRunner::choose_verifying(const StepItem& item, std::int64_t done) {
  const std::int64_t position = item.sequence->position();
  const std::int64_t total = std::ssize(item.ids);
  if (done == 0 && !model_->reads_weights_once()) {
    const BucketChoice wide = choose(position, total);
    if (wide.count == total) return wide;
  }
  BucketChoice best;
  for (Bucket& bucket : buckets_) {
    const std::int64_t context = bucket.plan().context;
    if ((bucket.max_width() != 1 && !bucket.is_flexible()) || context < position + total) continue;
    if (best.bucket != nullptr && best.bucket->plan().context <= context) continue;
    best = {&bucket, 1, 1};
  }
  ANEMONE_CHECK(best.bucket != nullptr);
  return best;
}

void StepRunner::step(std::span<StepItem> items, const std::function<void()>* meanwhile) {
  const auto choice_of = [&](const StepItem& item) { return choose(item, 0); };
  for (StepItem& item : items) {
    ANEMONE_CHECK(item.sequence->model_ == model_ && !item.sequence->is_damaged_);
    ANEMONE_CHECK(!item.ids.empty() && item.predictions >= 1);
    ANEMONE_CHECK(item.predictions == 1 || (std::ssize(item.ids) >= item.predictions &&
                                            std::ssize(item.ids) <= StepItem::kMaxVerified));
    item.done = 0;
    item.status = {};
    item.sequence->clear_logits();
  }
  std::vector<bool> is_handled(items.size());
  for (std::size_t first = 0; first < items.size(); ++first) {
    if (is_handled[first]) continue;
    const BucketChoice choice = choice_of(items[first]);
    choice.bucket->set_width(choice.width);
    parts_.clear();
    chunks_.clear();
    {
      const ObservedPhase phase(observer_, StepPhase::kEmbedding);
      for (std::size_t i = first; i < items.size(); ++i) {
        if (is_handled[i] || !choice_of(items[i]).is_same_pass(choice)) continue;
        is_handled[i] = true;
        const std::size_t before = chunks_.size();
        items[i].status = add_chunks(choice, items[i]);
        if (!items[i].status.ok()) chunks_.resize(before);
      }
    }
    if (!parts_.empty()) run_pass(choice, meanwhile);
  }
}

// Fills the inputs of as many tokens of the item as go into the pass.
Status StepRunner::add_chunks(const BucketChoice& choice, StepItem& item) {
  Sequence& sequence = *item.sequence;
  const auto total = static_cast<std::int64_t>(item.ids.size());
  const bool has_head_inside = model_->manifest().has_head_inside();
  const std::int64_t most =
      std::min(item.max_tokens, has_head_inside ? kMaxTokensWithLogits : StepItem::kMaxTokens);
  Part part{&item, chunks_.size()};
  BucketChoice next = choose(item, 0);
  do {
    const std::size_t index = chunks_.size();
    if (index == outputs_.size())
      outputs_.push_back(std::make_unique<StepOutputs>(make_outputs(*model_)));
    const std::int64_t position = sequence.position() + part.count;
    ANEMONE_ASSIGN_OR_RETURN(
        const Chunk chunk,
        choice.bucket->fill(index,
                            item.ids.subspan(static_cast<std::size_t>(part.count),
                                             static_cast<std::size_t>(next.count)),
                            position, sequence.length_, sequence.caches_, *outputs_[index]));
    chunks_.push_back(chunk);
    ++part.chunks;
    part.last_count = next.count;
    part.count += next.count;
    if (part.count == total || part.count + choice.width > most) break;
    next = choose(item, part.count);
  } while (next.is_same_pass(choice));
  ANEMONE_CHECK(item.predictions == 1 || part.count == total);
  const std::size_t unread = part.chunks - chunks_read(part);
  for (Chunk& chunk : std::span(chunks_).subspan(part.first_chunk, unread)) chunk.is_read = false;
  parts_.push_back(part);
  return {};
}

// How many of its last chunks give logits or hidden states that are asked for.
std::size_t StepRunner::chunks_read(const Part& part) {
  const StepItem& item = *part.item;
  if (item.on_logits != nullptr || item.on_hidden != nullptr) return part.chunks;
  if (part.count < std::ssize(item.ids)) return 0;
  return std::min(static_cast<std::size_t>(item.predictions), part.chunks);
}

void StepRunner::run_pass(const BucketChoice& choice, const std::function<void()>* meanwhile) {
  const Bucket& bucket = *choice.bucket;
  for (const Part& part : parts_) part.item->sequence->is_damaged_ = true;
  Status status;
  {
    const ObservedPhase phase(observer_, StepPhase::kLayers);
    status = run_shards(*model_, bucket.plan(), chunks_, meanwhile, observer_);
  }
  const ObservedPhase phase(observer_, StepPhase::kHeads);
  // Recurrent states are ahead of the tokens until those are added; keys and values beyond the
  // tokens are masked.
  if (status.ok()) {
    for (const Part& part : parts_)
      part.item->sequence->is_damaged_ = !part.item->sequence->can_be_truncated();
    status = predict_last(bucket);
  }
  for (const Part& part : parts_) {
    if (!status.ok() && part.item->status.ok()) part.item->status = status;
    if (part.item->status.ok() && part.item->on_hidden != nullptr)
      part.item->status = give_hidden(bucket, part);
    if (part.item->status.ok() && part.item->on_logits != nullptr)
      part.item->status = predict_all(bucket, part);
    else if (part.item->status.ok() && part.item->predictions > 1 && bucket.width() > 1)
      part.item->status = predict_several(bucket, part);
    if (part.item->status.ok()) add_tokens(part);
  }
}

void StepRunner::add_tokens(const Part& part) {
  Sequence& sequence = *part.item->sequence;
  const auto ids = part.item->ids.first(static_cast<std::size_t>(part.count));
  sequence.tokens_.insert(sequence.tokens_.end(), ids.begin(), ids.end());
  sequence.is_damaged_ = false;
  part.item->done = part.count;
}

}  // namespace anemone::engine
