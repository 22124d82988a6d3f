// SPDX-License-Identifier: Apache-2.0
// The checks of manifest_check.h for single shards: ports, caches, experts.
#include <algorithm>
#include <set>

#include "artifact/manifest_check.h"
#include "base/error.h"

namespace anemone::artifact {
namespace {

constexpr std::size_t kMaxCacheRank = 8;
constexpr std::int64_t kMaxExperts = 1 << 16;

using PortNames = std::set<std::string_view, std::less<>>;

Status check_port(const Manifest& manifest, const Port& port, std::string_view subject) {
  const bool is_rope = port.role == PortRole::kRopeCos || port.role == PortRole::kRopeSin;
  if (is_rope && manifest.rope(port.rope) == nullptr)
    return corrupt("[{}] expected input \"{}\" to name a rope of the manifest, got \"{}\"", subject,
                   port.name, port.rope);
  if (!is_rope && !port.rope.empty())
    return corrupt("[{}] expected no rope for input \"{}\" of role {}, got \"{}\"", subject,
                   port.name, port_role_name(port.role), port.rope);
  const bool is_tail = port.role == PortRole::kUpdateMask;
  ANEMONE_RETURN_IF_ERROR(check_range(subject, fmt::format("tail of input \"{}\"", port.name),
                                      port.tail, is_tail ? 1 : 0, is_tail ? kMaxContext : 0));
  if (port.role == PortRole::kLayerEmbedding && !manifest.layer_embedding)
    return corrupt("[{}] expected a layer_embedding for input \"{}\", got none", subject,
                   port.name);
  const bool is_attention =
      port.role == PortRole::kAttentionMask || port.role == PortRole::kAttentionMaskPastAndStep;
  if (!is_attention && port.window != 0)
    return corrupt("[{}] expected no window for input \"{}\" of role {}, got {}", subject,
                   port.name, port_role_name(port.role), port.window);
  return check_range(subject, fmt::format("window of input \"{}\"", port.name), port.window, 0,
                     kMaxContext);
}

// A package that writes at a position writes the tokens of a whole step, padding included.
std::int64_t least_positions(const Manifest& manifest, const Shard& shard) {
  if (std::ranges::find(shard.inputs, PortRole::kPosition, &Port::role) == shard.inputs.end())
    return manifest.context;
  std::int64_t widest = 0;
  for (const Function& function : manifest.functions) widest = std::max(widest, function.tokens);
  return manifest.context + widest;
}

Status check_cache(const Manifest& manifest, const Shard& shard, const Cache& cache,
                   std::string_view subject) {
  if (cache.dtype != DType::kFp16 && cache.dtype != DType::kFp32)
    return corrupt("[{}] expected cache \"{}\" in fp16 or fp32, got {}", subject, cache.name,
                   dtype_name(cache.dtype));
  if (cache.output.empty() && cache.dtype != DType::kFp16)
    return corrupt("[{}] expected cache \"{}\" in fp16 since it is a state, got {}", subject,
                   cache.name, dtype_name(cache.dtype));
  if (cache.is_appended && (cache.output.empty() || cache.is_recurrent || cache.shape.size() != 4))
    return corrupt(
        "[{}] expected cache \"{}\" to have an output and four dimensions, as it is appended to",
        subject, cache.name);
  ANEMONE_RETURN_IF_ERROR(check_range(subject, fmt::format("window of cache \"{}\"", cache.name),
                                      cache.window, 0, cache.is_appended ? kMaxContext : 0));
  const bool positive = std::all_of(cache.shape.begin(), cache.shape.end(),
                                    [](std::int64_t size) { return size > 0; });
  if (cache.shape.empty() || cache.shape.size() > kMaxCacheRank || !positive ||
      !checked_element_count(cache.shape).ok())
    return corrupt("[{}] expected a shape of 1 to {} positive sizes for cache \"{}\", got {}",
                   subject, kMaxCacheRank, cache.name, to_string(cache.shape));
  if (cache.is_recurrent) return {};
  const std::int64_t least = least_positions(manifest, shard);
  if (cache.shape.size() != 4 || cache.positions() < least)
    return corrupt(
        "[{}] expected cache \"{}\" of rows, heads, at least {} positions, and dimensions, got {}",
        subject, cache.name, least, to_string(cache.shape));
  return {};
}

}  // namespace

Status check_shard(const Manifest& manifest, const Shard& shard, std::string_view subject) {
  ANEMONE_RETURN_IF_ERROR(check_present(subject, "the output of a shard", shard.output));
  PortNames names;
  int hidden_inputs = 0;
  int positions = 0;
  for (const Port& port : shard.inputs) {
    ANEMONE_RETURN_IF_ERROR(check_present(subject, "an input of a shard", port.name));
    if (!names.insert(port.name).second)
      return corrupt("[{}] expected each input once, got \"{}\" twice ({})", subject, port.name,
                     shard.package);
    ANEMONE_RETURN_IF_ERROR(check_port(manifest, port, subject).with(shard.package));
    if (port.role == PortRole::kHidden) ++hidden_inputs;
    if (port.role == PortRole::kPosition) ++positions;
  }
  if (hidden_inputs != 1)
    return corrupt("[{}] expected one input of role hidden, got {} ({})", subject, hidden_inputs,
                   shard.package);
  if (positions > 1)
    return corrupt("[{}] expected one input of role position at most, got {} ({})", subject,
                   positions, shard.package);
  PortNames outputs = {shard.output};
  for (const Cache& cache : shard.caches) {
    ANEMONE_RETURN_IF_ERROR(check_present(subject, "a cache of a shard", cache.name));
    if (!names.insert(cache.name).second)
      return corrupt("[{}] expected each input and cache once, got \"{}\" twice ({})", subject,
                     cache.name, shard.package);
    if (!cache.output.empty() && !outputs.insert(cache.output).second)
      return corrupt("[{}] expected each output once, got \"{}\" twice ({})", subject, cache.output,
                     shard.package);
    ANEMONE_RETURN_IF_ERROR(check_cache(manifest, shard, cache, subject).with(shard.package));
  }
  if (!shard.experts) return {};
  for (const std::string* name : {&shard.experts->input, &shard.experts->weights}) {
    ANEMONE_RETURN_IF_ERROR(check_present(subject, "an output for experts", *name));
    if (!outputs.insert(*name).second)
      return corrupt("[{}] expected each output once, got \"{}\" twice ({})", subject, *name,
                     shard.package);
  }
  return {};
}

namespace {

Status check_experts_of(const Shard& shard, std::string_view subject) {
  const Experts& experts = *shard.experts;
  if (shard.layers.part_end == 0)
    return corrupt(
        "[{}] expected a shard with experts to end inside a layer, got one that ends with it",
        subject);
  ANEMONE_RETURN_IF_ERROR(check_range(subject, "experts.count", experts.count, 1, kMaxExperts));
  ANEMONE_RETURN_IF_ERROR(check_range(subject, "experts.chosen", experts.active, 1, experts.count));
  if (experts.widths.empty())
    return corrupt("[{}] expected experts.widths to hold numbers, got none", subject);
  std::int64_t least = 1;
  for (const std::int64_t width : experts.widths) {
    ANEMONE_RETURN_IF_ERROR(
        check_range(subject, "each of experts.widths", width, least, kMaxContext));
    least = width + 1;
  }
  std::int64_t covered = 0;
  for (const ExpertPack& pack : experts.packs) {
    ANEMONE_RETURN_IF_ERROR(
        check_next_range(subject, "experts", covered, pack.begin, pack.end, experts.count)
            .with(pack.package));
    covered = pack.end;
  }
  if (covered != experts.count)
    return corrupt("[{}] expected the packs to cover {} experts, got {}", subject, experts.count,
                   covered);
  return {};
}

}  // namespace

Status check_experts(const Manifest& manifest, std::string_view subject) {
  bool is_given = false;  // whether the shard before has experts
  for (const Shard& shard : manifest.shards) {
    const auto takes = std::ranges::count(shard.inputs, PortRole::kExperts, &Port::role);
    if (takes != (is_given ? 1 : 0))
      return corrupt("[{}] expected {} input of role experts, got {} ({})", subject,
                     is_given ? "one" : "no", takes, shard.package);
    is_given = shard.experts.has_value();
    if (is_given) ANEMONE_RETURN_IF_ERROR(check_experts_of(shard, subject).with(shard.package));
  }
  return {};
}

}  // namespace anemone::artifact
