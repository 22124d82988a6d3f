// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/mask_cache.h"

#include <algorithm>
#include <cstring>

namespace anemone::exec {
namespace {

constexpr std::uint16_t kOne = 0x3c00;
// The bits of -9000. At this and below, e^mask is nothing next to the positions that are attended
// to, whatever the scores: those of fp16 programs lie within 65504, but programs that mask with so
// little rely on smaller ones.
constexpr std::uint16_t kOutOfReach = 0xf065;
// The bits of -infinity: above it are the NaNs.
constexpr std::uint16_t kMinusInfinity = 0xfc00;

std::uint16_t magnitude(Half h) {
  return static_cast<std::uint16_t>(h.bits & 0x7fff);
}

// Whether all of them are out of reach. Negative numbers have bits that grow with their size.
bool are_far(const Half* begin, const Half* end) {
  bool are = true;
  for (; begin != end; ++begin) are &= begin->bits >= kOutOfReach && begin->bits <= kMinusInfinity;
  return are;
}

WriteMask analyse_write(const TensorView& mask) {
  WriteMask out;
  const std::int64_t positions = mask.shape[2];
  const std::int64_t tokens = mask.shape[3];
  out.position_of_token.assign(static_cast<std::size_t>(tokens), -1);
  const Half* row = mask.as<Half>().data();
  const std::vector<Half> zeros(static_cast<std::size_t>(tokens));
  for (std::int64_t s = 0; s < positions; ++s, row += tokens) {
    if (std::memcmp(row, zeros.data(), static_cast<std::size_t>(tokens) * sizeof(Half)) == 0)
      continue;
    int ones = 0;
    for (std::int64_t t = 0; t < tokens; ++t) {
      if (magnitude(row[t]) == 0) continue;
      std::int64_t& position = out.position_of_token[static_cast<std::size_t>(t)];
      if (row[t].bits != kOne || position >= 0 || ++ones > 1) return {};
      position = s;
    }
  }
  out.is_one_hot = true;
  return out;
}

AttentionMask analyse_attention_mask(const TensorView& mask) {
  AttentionMask out;
  const std::int64_t tokens = mask.shape[2];
  const std::int64_t positions = mask.shape[3];
  out.tokens = tokens;
  const Half* row = mask.as<Half>().data();
  for (std::int64_t t = 0; t < tokens; ++t, row += positions) {
    const auto is_seen = [](Half h) { return magnitude(h) == 0; };
    const Half* begin = std::find_if(row, row + positions, is_seen);
    const Half* end = std::find_if_not(begin, row + positions, is_seen);
    if (begin == end || !are_far(row, begin) || !are_far(end, row + positions)) return out;
    out.add({begin - row, end - row});
  }
  out.has_runs = true;
  return out;
}

}  // namespace

void AttentionMask::add(const Run& run) {
  all =
      run_of_token.empty() ? run : Run{std::min(all.begin, run.begin), std::max(all.end, run.end)};
  run_of_token.push_back(run);
}

void MaskCache::set(const TensorView& mask, const MaskFact& fact, const StepFacts& facts) {
  if (fact.role != MaskFact::Role::kAttention) {
    WriteMask& write = writes_[&mask];
    write.is_one_hot = true;
    for (std::int64_t t = 0; t < facts.tokens; ++t)
      write.position_of_token.push_back(t < facts.count ? facts.position + t : -1);
  }
  if (fact.role != MaskFact::Role::kWrite) {
    AttentionMask& attention = attention_masks_[&mask];
    attention.has_runs = true;
    attention.tokens = facts.count;
    for (std::int64_t t = 0; t < facts.tokens; ++t)
      attention.add(attended(fact, facts.position, facts.count, t));
  }
}

const WriteMask& MaskCache::write_mask(const TensorView& mask) {
  const auto [it, is_new] = writes_.try_emplace(&mask);
  if (is_new) it->second = analyse_write(mask);
  return it->second;
}

const WriteMask& MaskCache::appended(const TensorView& mask) {
  const auto [it, is_new] = writes_.try_emplace(&mask);
  if (is_new) {
    it->second.is_one_hot = true;
    for (std::int64_t t = mask.shape[2]; t > 0; --t)
      it->second.position_of_token.push_back(mask.shape[3] - t);
  }
  return it->second;
}

const AttentionMask& MaskCache::attention_mask(const TensorView& mask) {
  const auto [it, is_new] = attention_masks_.try_emplace(&mask);
  if (is_new) it->second = analyse_attention_mask(mask);
  return it->second;
}

}  // namespace anemone::exec
