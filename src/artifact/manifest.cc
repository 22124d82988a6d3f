// SPDX-License-Identifier: Apache-2.0
#include "artifact/manifest.h"

#include <algorithm>
#include <fmt/format.h>
#include <span>

#include "base/check.h"

namespace anemone::artifact {

std::string_view port_role_name(PortRole role) {
  switch (role) {
    case PortRole::kHidden:
      return "hidden";
    case PortRole::kRopeCos:
      return "rope_cos";
    case PortRole::kRopeSin:
      return "rope_sin";
    case PortRole::kAttentionMask:
      return "attention_mask";
    case PortRole::kAttentionMaskPastAndStep:
      return "attention_mask_past_and_step";
    case PortRole::kCacheWriteMask:
      return "cache_write_mask";
    case PortRole::kUpdateMask:
      return "tail_mask";  // its word in every manifest so far
    case PortRole::kEmbedding:
      return "embedding";
    case PortRole::kLayerEmbedding:
      return "layer_embedding";
    case PortRole::kExperts:
      return "experts";
    case PortRole::kPosition:
      return "position";
  }
  ANEMONE_CHECK(false);
  return {};
}

int needed_format_version(const Manifest& manifest) {
  const bool has_parts = std::ranges::any_of(manifest.shards, [](const Shard& shard) {
    return shard.layers.part_begin != 0 || shard.layers.part_end != 0 || shard.experts.has_value();
  });
  const bool has_appended = std::ranges::any_of(manifest.shards, [](const Shard& shard) {
    return std::ranges::any_of(shard.caches, &Cache::is_appended);
  });
  // A shard takes the position of the step only to write to packed caches.
  const bool has_packed = std::ranges::any_of(manifest.shards, [](const Shard& shard) {
    return std::ranges::find(shard.inputs, PortRole::kPosition, &Port::role) != shard.inputs.end();
  });
  if (manifest.form.has_growing_caches() && has_appended) return 4;
  const bool has_joined_heads = manifest.head_packages().size() != manifest.heads.size();
  const bool has_quantized = is_quantized(manifest.embedding) ||
                             (manifest.layer_embedding && is_quantized(*manifest.layer_embedding));
  if (manifest.form.logits == LogitsLayout::kLast || has_appended || has_packed ||
      has_joined_heads || manifest.has_head_inside() || has_quantized)
    return 3;
  return has_parts ? 2 : 1;
}

const Rope* Manifest::rope(std::string_view rope_name) const {
  for (const Rope& rope : ropes)
    if (rope.name == rope_name) return &rope;
  return nullptr;
}

bool Manifest::has_same_ropes(std::int64_t length, std::int64_t other_length) const {
  return std::ranges::all_of(
      ropes, [&](const Rope& rope) { return rope.is_long(length) == rope.is_long(other_length); });
}

const Function* Manifest::head_function(const Function& function) const {
  // In a classifier each function has a context of its own, the tokens of its step, and no tiers.
  if (classifies()) return &function;
  for (const Function& candidate : functions)
    if (context_of(candidate) == context && candidate.tokens == function.tokens &&
        candidate.is_flexible == function.is_flexible)
      return &candidate;
  return nullptr;
}

bool Manifest::has_head_inside() const {
  return !shards.empty() && !heads.empty() && heads.front().package == shards.back().package;
}

std::vector<std::span<const Head>> Manifest::head_packages() const {
  std::vector<std::span<const Head>> packages;
  if (has_head_inside()) return packages;
  for (std::size_t begin = 0, end = 0; begin < heads.size(); begin = end) {
    while (end < heads.size() && heads[end].package == heads[begin].package) ++end;
    packages.push_back(std::span(heads).subspan(begin, end - begin));
  }
  return packages;
}

std::string expert_function(std::int64_t expert, std::int64_t tokens) {
  return fmt::format("expert_{}_{}", expert, tokens);
}

std::string layers_text(const LayerSpan& layers) {
  std::string text = fmt::format("layers {}-{}", layers.begin, layers.end - 1);
  if (layers.part_begin != 0) text += fmt::format(" from part {}", layers.part_begin);
  if (layers.part_end != 0) text += fmt::format(" to part {}", layers.part_end - 1);
  return text;
}

std::string experts_text(std::int64_t layer, std::int64_t begin, std::int64_t end) {
  return fmt::format("layer {}, experts {}-{}", layer, begin, end - 1);
}

}  // namespace anemone::artifact
