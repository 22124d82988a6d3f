// SPDX-License-Identifier: Apache-2.0
#include "engine/speculation/ngram_proposer.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/check.h"

namespace anemone::engine {
namespace {

constexpr std::size_t kFirstEntries = 1024;

// The step of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators).
std::uint64_t hash_step(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

}  // namespace

NgramProposer::NgramProposer(std::int64_t longest) : longest_(static_cast<std::size_t>(longest)) {
  ANEMONE_CHECK(longest >= kShortest && longest <= kMaxLongest);
}

std::size_t NgramProposer::slot(std::size_t end, std::size_t length) const {
  std::uint64_t hash = length;
  for (std::size_t i = end - length; i < end; ++i)
    hash = hash_step(hash ^ static_cast<std::uint32_t>(ids_[i]));
  return static_cast<std::size_t>(hash) & (places_.size() - 1);
}

void NgramProposer::add(std::size_t end) {
  for (auto length = static_cast<std::size_t>(kShortest); length <= std::min(longest_, end);
       ++length)
    places_[slot(end, length)] = static_cast<std::uint32_t>(end);
}

// Room for the runs of so many tokens, with as much again so that few share a place. It doubles, so
// adding all runs again costs a constant time for each token.
void NgramProposer::grow(std::size_t tokens) {
  const std::size_t runs = tokens * (longest_ - static_cast<std::size_t>(kShortest) + 1);
  const std::size_t wanted =
      std::clamp(std::bit_ceil(std::min(2 * runs, kMaxEntries)), kFirstEntries, kMaxEntries);
  if (wanted <= places_.size()) return;
  places_.assign(wanted, 0);
  added_ = 0;
}

std::optional<int> NgramProposer::look(std::span<const std::int32_t> ids) {
  ANEMONE_CHECK(ids.size() <= std::numeric_limits<std::uint32_t>::max());
  ids_ = ids;
  grow(ids.size());
  // The run at the end of the text is not added yet, as nothing follows it.
  for (; added_ < ids.size(); ++added_) add(added_);
  for (std::size_t length = std::min(longest_, ids.size());
       length >= static_cast<std::size_t>(kShortest); --length) {
    place_ = places_[slot(ids.size(), length)];
    if (place_ < length) continue;
    if (std::ranges::equal(ids.subspan(place_ - length, length), ids.last(length)))
      return static_cast<int>(length);
  }
  return std::nullopt;
}

// Where the place is near the end, what is proposed repeats itself, as the text seems to do.
Status NgramProposer::propose(std::int64_t most, std::vector<std::int32_t>& tokens) {
  const std::size_t begin = tokens.size();
  for (std::size_t i = 0; i < static_cast<std::size_t>(most); ++i) {
    const std::size_t from = place_ + i;
    tokens.push_back(from < ids_.size() ? ids_[from] : tokens[begin + from - ids_.size()]);
  }
  return {};
}

}  // namespace anemone::engine
