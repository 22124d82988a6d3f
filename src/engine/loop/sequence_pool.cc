// SPDX-License-Identifier: Apache-2.0
#include "engine/loop/sequence_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"

namespace anemone::engine {
namespace {

// A prefix of fewer tokens is not worth a copy: reading it again costs one step.
constexpr std::int64_t kLeastCopy = 4;
// A text that leaves so many tokens of a sequence behind still takes it: templates write the last
// answer in a slightly other way.
constexpr std::int64_t kMaxLost = 64;
// Beyond this many parked sequences the search for a prefix and what every sequence costs without
// its caches would show.
constexpr std::size_t kMaxParked = 256;

}  // namespace

std::unique_ptr<Sequence> SequencePool::remove(Parked::iterator it) {
  std::unique_ptr<Sequence> sequence = std::move(*it);
  parked_.erase(it);
  bytes_ -= sequence->bytes();
  return sequence;
}

SequencePool::Found SequencePool::find(const Model& model, std::span<const std::int32_t> ids,
                                       std::span<Sequence* const> running) {
  Found best{nullptr, parked_.end(), 0};
  const auto look_at = [&](Sequence& sequence, Parked::iterator it) {
    const std::int64_t count = sequence.reusable(ids);
    if (count > best.count) best = {&sequence, it, count};
  };
  for (auto it = parked_.begin(); it != parked_.end(); ++it)
    if (&(*it)->model() == &model) look_at(**it, it);
  for (Sequence* sequence : running) look_at(*sequence, parked_.end());
  return best;
}

Result<std::unique_ptr<Sequence>> SequencePool::take(const std::shared_ptr<const Model>& model,
                                                     std::span<const std::int32_t> ids,
                                                     std::span<Sequence* const> running,
                                                     std::uint64_t running_bytes) {
  const auto [source, parked, count] = find(*model, ids, running);
  const std::uint64_t wanted = Sequence::cache_bytes(*model, static_cast<std::int64_t>(ids.size()));
  if (parked != parked_.end()) {
    const std::int64_t lost = source->position() - count;
    const bool has_room = running_bytes + bytes_ + wanted <= max_bytes_;
    if (lost <= std::min(kMaxLost, count) || (!has_room && count >= lost)) {
      auto sequence = remove(parked);
      sequence->truncate(count);
      return sequence;
    }
    // It has been used now, and goes last when memory is needed.
    parked_.splice(parked_.end(), parked_, parked);
  }
  ANEMONE_ASSIGN_OR_RETURN(auto sequence, Sequence::create(model));
  if (count >= kLeastCopy) ANEMONE_RETURN_IF_ERROR(sequence->copy_prefix(*source, count));
  trim(running_bytes + wanted);
  return sequence;
}

void SequencePool::park(std::unique_ptr<Sequence> sequence) {
  if (sequence->position() == 0 || sequence->is_damaged()) return;
  sequence->drop_prediction();
  // One that holds the beginning of another one serves nothing that the other does not.
  const auto begins = [](const Sequence& shorter, const Sequence& longer) {
    return &shorter.model() == &longer.model() &&
           (longer.can_be_truncated() || shorter.position() == longer.position()) &&
           common_prefix(shorter.tokens(), longer.tokens()) == shorter.position();
  };
  for (auto it = parked_.begin(); it != parked_.end();) {
    const auto next = std::next(it);
    if (begins(*sequence, **it) && (*it)->has_ropes_of(*sequence)) {
      parked_.splice(parked_.end(), parked_, it);
      return;
    }
    if (begins(**it, *sequence) && (*it)->has_ropes_of(*sequence)) remove(it);
    it = next;
  }
  bytes_ += sequence->bytes();
  parked_.push_back(std::move(sequence));
  if (parked_.size() > kMaxParked) remove(parked_.begin());
}

void SequencePool::drop(const Model& model) {
  for (auto it = parked_.begin(); it != parked_.end();) {
    const auto next = std::next(it);
    if (&(*it)->model() == &model) remove(it);
    it = next;
  }
}

void SequencePool::trim(std::uint64_t running_bytes) {
  while (!parked_.empty() && running_bytes + bytes_ > max_bytes_) remove(parked_.begin());
}

}  // namespace anemone::engine
