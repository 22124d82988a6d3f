// SPDX-License-Identifier: Apache-2.0
#include "ane/shard_plan.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <string>

#include "ane/limits.h"
#include "base/error.h"

namespace anemone::ane {
namespace {

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::vector<Range> even_ranges(std::int64_t total, std::int64_t parts) {
  std::vector<Range> ranges;
  for (std::int64_t i = 0; i < parts; ++i)
    ranges.push_back({total * i / parts, total * (i + 1) / parts});
  return ranges;
}

Status spec_error(std::string_view spec, std::int64_t layers) {
  return invalid_argument(
      "[--shards] expected auto, a size such as 100MB, a number of packages from 1 to {}, or "
      "ranges such as 0:{} that cover all layers, got \"{}\"",
      layers, layers, spec);
}

Result<std::vector<Range>> parse_ranges(std::string_view spec, std::int64_t layers) {
  std::vector<Range> ranges;
  std::string_view rest = spec;
  while (true) {
    const auto comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const auto colon = item.find(':');
    if (colon == item.npos) return spec_error(spec, layers);
    const auto begin = parse_number(item.substr(0, colon));
    const auto end = parse_number(item.substr(colon + 1));
    const std::int64_t expected = ranges.empty() ? 0 : ranges.back().end;
    if (!begin || !end || *begin != expected || *end <= *begin || *end > layers)
      return spec_error(spec, layers);
    ranges.push_back({*begin, *end});
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (ranges.back().end != layers) return spec_error(spec, layers);
  return ranges;
}

// Greedy filling up to `budget`; a layer heavier than the budget gets a package of its own.
std::vector<Range> fill(const std::vector<std::uint64_t>& layer_bytes, std::uint64_t budget) {
  std::vector<Range> ranges;
  std::uint64_t used = 0;
  for (std::size_t i = 0; i < layer_bytes.size(); ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    if (ranges.empty() || used + layer_bytes[i] > budget) {
      ranges.push_back({layer, layer});
      used = 0;
    }
    used += layer_bytes[i];
    ranges.back().end = layer + 1;
  }
  return ranges;
}

// "100MB", "2GB"; nullopt for anything else.
std::optional<std::uint64_t> parse_size(std::string_view text) {
  constexpr std::int64_t kMostUnits = 1'000'000;
  const bool is_giga = text.ends_with("GB");
  if (!is_giga && !text.ends_with("MB")) return std::nullopt;
  const auto units = parse_number(text.substr(0, text.size() - 2));
  if (!units || *units < 1 || *units > kMostUnits) return std::nullopt;
  return static_cast<std::uint64_t>(*units) * (is_giga ? 1'000'000'000 : 1'000'000);
}

// As few packages within the budget as possible, then filled as evenly as they can be.
std::vector<Range> fill_evenly(const std::vector<std::uint64_t>& layer_bytes,
                               std::uint64_t budget) {
  const std::size_t fewest = fill(layer_bytes, budget).size();
  std::uint64_t low = 0;
  std::uint64_t high =
      std::max(budget, std::accumulate(layer_bytes.begin(), layer_bytes.end(), std::uint64_t{0}));
  while (low + 1 < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    (fill(layer_bytes, middle).size() <= fewest ? high : low) = middle;
  }
  return fill(layer_bytes, high);
}

}  // namespace

Result<std::vector<Range>> plan_layer_shards(std::string_view spec,
                                             const std::vector<std::uint64_t>& layer_bytes) {
  const auto layers = static_cast<std::int64_t>(layer_bytes.size());
  if (spec == "auto") return fill_evenly(layer_bytes, kShardBytes);
  if (const auto budget = parse_size(spec)) return fill_evenly(layer_bytes, *budget);
  if (spec.find(':') != spec.npos) return parse_ranges(spec, layers);
  const auto parts = parse_number(spec);
  if (!parts || *parts < 1 || *parts > layers) return spec_error(spec, layers);
  return even_ranges(layers, *parts);
}

std::vector<Range> plan_head_shards(std::int64_t vocab_size, std::uint64_t bytes_per_row) {
  const auto by_bytes =
      static_cast<std::int64_t>(kShardBytes / std::max<std::uint64_t>(1, bytes_per_row));
  const std::int64_t widest = std::max(
      kChannelMultiple, std::min(kMaxChannels, by_bytes) / kChannelMultiple * kChannelMultiple);
  const std::int64_t parts = (vocab_size + widest - 1) / widest;
  std::int64_t width = (vocab_size + parts - 1) / parts;
  width = (width + kChannelMultiple - 1) / kChannelMultiple * kChannelMultiple;
  std::vector<Range> ranges;
  for (std::int64_t begin = 0; begin < vocab_size; begin += width)
    ranges.push_back({begin, std::min(vocab_size, begin + width)});
  return ranges;
}

}  // namespace anemone::ane
