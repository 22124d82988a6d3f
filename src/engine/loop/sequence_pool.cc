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
constexpr std::int64_t kMostLost = 64;
// Beyond this many parked sequences the search for a prefix and what every sequence costs without
// its caches would show.
constexpr std::size_t kMostParked = 256;

}  // namespace

std::unique_ptr<Sequence> SequencePool::remove(Parked::iterator it) {
  std::unique_ptr<Sequence> sequence = std::move(*it);
  parked_.erase(it);
  bytes_ -= sequence->bytes();
  return sequence;
}

SequencePool::Parked::iterator SequencePool::find(const Model& model,
                                                  std::span<const std::int32_t> ids,
                                                  std::int64_t& reusable) {
  auto best = parked_.end();
  reusable = 0;
  for (auto it = parked_.begin(); it != parked_.end(); ++it) {
    if (&(*it)->model() != &model) continue;
    const std::int64_t count = (*it)->reusable(ids);
    if (count > reusable) {
      reusable = count;
      best = it;
    }
  }
  return best;
}

std::int64_t SequencePool::reusable(const Model& model, std::span<const std::int32_t> ids) const {
  std::int64_t most = 0;
  for (const auto& sequence : parked_)
    if (&sequence->model() == &model) most = std::max(most, sequence->reusable(ids));
  return most;
}

Result<std::unique_ptr<Sequence>> SequencePool::take(const std::shared_ptr<const Model>& model,
                                                     std::span<const std::int32_t> ids,
                                                     std::span<Sequence* const> running,
                                                     std::uint64_t running_bytes) {
  std::int64_t count = 0;
  const auto found = find(*model, ids, count);
  Sequence* source = found == parked_.end() ? nullptr : found->get();
  for (Sequence* candidate : running) {
    const std::int64_t other = candidate->reusable(ids);
    if (other > count) {
      source = candidate;
      count = other;
    }
  }
  const bool is_parked = found != parked_.end() && source == found->get();
  const std::uint64_t wanted = Sequence::cache_bytes(*model, static_cast<std::int64_t>(ids.size()));
  if (is_parked) {
    const std::int64_t lost = source->position() - count;
    const bool has_room = running_bytes + bytes_ + wanted <= most_bytes_;
    if (lost <= std::min(kMostLost, count) || (!has_room && count >= lost)) {
      auto sequence = remove(found);
      sequence->truncate(count);
      return sequence;
    }
    // It has been used now, and goes last when memory is needed.
    parked_.splice(parked_.end(), parked_, found);
  }
  if (count < kLeastCopy) source = nullptr;
  ANEMONE_ASSIGN_OR_RETURN(auto sequence, Sequence::create(model));
  if (source != nullptr) ANEMONE_RETURN_IF_ERROR(sequence->copy_prefix(*source, count));
  trim(running_bytes + wanted);
  return sequence;
}

void SequencePool::park(std::unique_ptr<Sequence> sequence) {
  if (sequence->position() == 0 || sequence->is_damaged()) return;
  sequence->drop_prediction();
  // One that holds the beginning of another one serves nothing that the other does not.
  const auto begins = [](const Sequence& shorter, const Sequence& longer) {
    return &shorter.model() == &longer.model() &&
           (longer.can_be_cut() || shorter.position() == longer.position()) &&
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
  if (parked_.size() > kMostParked) remove(parked_.begin());
}

void SequencePool::trim(std::uint64_t running_bytes) {
  while (!parked_.empty() && running_bytes + bytes_ > most_bytes_) remove(parked_.begin());
}

void SequencePool::clear() {
  parked_.clear();
  bytes_ = 0;
}

}  // namespace anemone::engine
