// SPDX-License-Identifier: Apache-2.0
#include "ane/shard_plan.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <tuple>

#include "ane/limits.h"
#include "base/error.h"
#include "base/parse_number.h"

namespace anemone::ane {
namespace {

std::vector<Range> even_ranges(std::int64_t total, std::int64_t parts) {
  std::vector<Range> ranges;
  for (std::int64_t i = 0; i < parts; ++i)
    ranges.push_back({total * i / parts, total * (i + 1) / parts});
  return ranges;
}

Status spec_error(std::string_view spec, std::int64_t layers) {
  return invalid_argument(
      "[--shards, --plan] expected auto, each, a size such as 100MB, a number of packages from 1 "
      "to {}, or ranges such as 0:{} that cover all layers, got \"{}\"",
      layers, layers, spec);
}

Result<std::vector<Range>> parse_ranges(std::string_view spec, std::int64_t layers) {
  std::vector<Range> ranges;
  std::string_view rest = spec;
  while (true) {
    const auto comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const auto range = parse_range(item);
    const std::int64_t expected = ranges.empty() ? 0 : ranges.back().end;
    if (!range || range->begin != expected || range->end > layers) return spec_error(spec, layers);
    ranges.push_back(*range);
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (ranges.back().end != layers) return spec_error(spec, layers);
  return ranges;
}

// Ranges of layers as ranges of their pieces, cut where they must be.
std::vector<Range> pieces_of(const std::vector<Range>& layers, const std::vector<Piece>& pieces) {
  std::vector<Range> ranges;
  std::int64_t piece = 0;
  std::int64_t layer = 0;
  for (const Range& range : layers) {
    ranges.push_back({piece, piece});
    for (; layer < range.end; ++piece) {
      const Piece& each = pieces[static_cast<std::size_t>(piece)];
      ranges.back().end = piece + 1;
      if (each.ends_layer) ++layer;
      if (each.ends_package && layer < range.end) ranges.push_back({piece + 1, piece + 1});
    }
  }
  return ranges;
}

// A plan for the pieces from some piece to the last, by its cost: packages first, then cuts. How
// evenly it fills the packages is decided afterwards (fill_evenly()).
struct Plan {
  std::size_t packages = 0;
  std::size_t cuts = 0;  // borders of packages inside a layer
  std::int64_t end = 0;  // of the first package

  bool is_cheaper_than(const Plan& other) const {
    return std::tie(packages, cuts) < std::tie(other.packages, other.cuts);
  }
};

// What a package may hold.
struct Limits {
  std::uint64_t bytes = 0;
  std::int64_t operations = std::numeric_limits<std::int64_t>::max();
  std::int64_t layers = std::numeric_limits<std::int64_t>::max();
};

Limits limits_of(std::uint64_t bytes, artifact::PackageForm form) {
  if (form == artifact::PackageForm::kBySize) return {.bytes = bytes};
  return {bytes, kMaxOperations, kMaxLayers};
}

// Totals of consecutive pieces.
struct Window {
  std::uint64_t bytes = 0;
  std::int64_t operations = 0;
  std::int64_t layer_ends = 0;  // layers that end in it

  void add(const Piece& piece, int sign) {
    bytes += sign > 0 ? piece.bytes : -piece.bytes;
    operations += sign * piece.operations;
    if (piece.ends_layer) layer_ends += sign;
  }
  bool exceeds(const Limits& limits, const Piece& last) const {
    return bytes > limits.bytes || operations > limits.operations ||
           layer_ends + (last.ends_layer ? 0 : 1) > limits.layers;
  }
};

// For each piece the cheapest plan from it to the last piece. A package that begins at a piece ends
// as late as the limits allow, or at the last border of layers before that: a plan from a later
// piece never costs more than one from an earlier, so no other end is better.
std::vector<Plan> cheapest_plans(const std::vector<Piece>& pieces, const Limits& limits) {
  const std::size_t count = pieces.size();
  std::vector<Plan> best(count + 1);
  std::vector<std::size_t> border(count + 1);  // the last end of a layer up to here
  for (std::size_t i = 0; i < count; ++i) border[i + 1] = pieces[i].ends_layer ? i + 1 : border[i];
  std::size_t end = count;
  Window used;  // the pieces [begin, end)
  for (std::size_t begin = count; begin-- > 0;) {
    if (pieces[begin].ends_package) {
      end = begin + 1;
      used = {};
    }
    used.add(pieces[begin], 1);
    while (end > begin + 1 && used.exceeds(limits, pieces[end - 1])) used.add(pieces[--end], -1);
    const auto ending_at = [&](std::size_t at) {
      return Plan{best[at].packages + 1, best[at].cuts + (pieces[at - 1].ends_layer ? 0 : 1),
                  static_cast<std::int64_t>(at)};
    };
    best[begin] = ending_at(end);
    if (border[end] <= begin) continue;
    const Plan whole = ending_at(border[end]);
    if (whole.is_cheaper_than(best[begin])) best[begin] = whole;
  }
  return best;
}

// The plan with the fewest packages and cuts; of those, one whose largest package is as small as
// possible. A bisection finds the smallest limit in bytes that does not raise the cost.
std::vector<Range> fill_evenly(const std::vector<Piece>& pieces, Limits limits) {
  const Plan wanted = cheapest_plans(pieces, limits).front();
  std::uint64_t low = 0;
  std::uint64_t high = limits.bytes;
  while (low + 1 < high) {
    limits.bytes = low + (high - low) / 2;
    (wanted.is_cheaper_than(cheapest_plans(pieces, limits).front()) ? low : high) = limits.bytes;
  }
  limits.bytes = high;
  const std::vector<Plan> best = cheapest_plans(pieces, limits);
  std::vector<Range> ranges;
  for (std::int64_t begin = 0; begin < static_cast<std::int64_t>(pieces.size());) {
    const std::int64_t end = best[static_cast<std::size_t>(begin)].end;
    ranges.push_back({begin, end});
    begin = end;
  }
  return ranges;
}

std::int64_t rounded_up_quotient(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

// A small size for packages or the vocabulary of a hostile config would ask for millions of heads.
Status check_heads(std::int64_t vocab_size, std::int64_t heads) {
  if (static_cast<std::uint64_t>(heads) <= kMaxHeads) return {};
  return invalid_argument(
      "[--shards, --plan] expected at most {} heads for a vocabulary of {}, got {} of about {} "
      "rows",
      kMaxHeads, vocab_size, heads, rounded_up_quotient(vocab_size, heads));
}

// The width of ranges of which there are at most `parts`: kChannelMultiple rounds it up.
std::int64_t width_of_parts(std::int64_t vocab_size, std::int64_t parts) {
  return rounded_up_quotient(rounded_up_quotient(vocab_size, parts), kChannelMultiple) *
         kChannelMultiple;
}

// At most `parts` ranges of about the same width.
std::vector<Range> ranges_of_vocabulary(std::int64_t vocab_size, std::int64_t parts) {
  const std::int64_t width = width_of_parts(vocab_size, parts);
  std::vector<Range> ranges;
  for (std::int64_t begin = 0; begin < vocab_size; begin += width)
    ranges.push_back({begin, std::min(vocab_size, begin + width)});
  return ranges;
}

// Ranges of about the same width: none has more than `max_columns` or, if it has more than
// kChannelMultiple rows, more than `max_bytes`.
Result<std::vector<Range>> vocabulary_ranges(
    std::int64_t vocab_size, std::uint64_t bytes_per_row, std::int64_t max_columns,
    std::uint64_t max_bytes, const std::function<bool(std::int64_t rows)>& is_slow) {
  const auto by_bytes =
      static_cast<std::int64_t>(max_bytes / std::max<std::uint64_t>(1, bytes_per_row));
  const std::int64_t widest = std::max(
      kChannelMultiple, std::min(max_columns, by_bytes) / kChannelMultiple * kChannelMultiple);
  const std::int64_t parts = rounded_up_quotient(vocab_size, widest);
  ANEMONE_RETURN_IF_ERROR(check_heads(vocab_size, parts));
  const std::vector<Range> fewest = ranges_of_vocabulary(vocab_size, parts);
  if (!is_slow) return fewest;
  // Every range is one more output or package, so only a few more are tried.
  constexpr std::int64_t kMostMore = 4;
  for (std::int64_t more = 0; more <= kMostMore; ++more) {
    std::vector<Range> ranges = ranges_of_vocabulary(vocab_size, parts + more);
    const auto is_range_slow = [&](const Range& each) { return is_slow(each.end - each.begin); };
    if (std::ranges::none_of(ranges, is_range_slow)) return ranges;
  }
  return fewest;
}

// At most `packages` packages of heads of about the same width, whatever `is_slow` says.
Result<std::vector<std::vector<Range>>> heads_by_number(artifact::HeadOutputs outputs,
                                                        std::int64_t vocab_size,
                                                        std::int64_t packages) {
  const auto parts_of = [&](std::int64_t width) {
    return outputs == artifact::HeadOutputs::kOne ? 1 : rounded_up_quotient(width, kMaxChannels);
  };
  const std::int64_t widest = width_of_parts(vocab_size, packages);
  ANEMONE_RETURN_IF_ERROR(
      check_heads(vocab_size, rounded_up_quotient(vocab_size, widest) * parts_of(widest)));
  std::vector<std::vector<Range>> out;
  for (const Range& package : ranges_of_vocabulary(vocab_size, packages)) {
    const std::int64_t width = package.end - package.begin;
    out.emplace_back();
    for (const Range& part : ranges_of_vocabulary(width, parts_of(width)))
      out.back().push_back({package.begin + part.begin, package.begin + part.end});
  }
  return out;
}

}  // namespace

std::optional<Range> parse_range(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == text.npos) return std::nullopt;
  const auto begin = parse_number<std::int64_t>(text.substr(0, colon));
  const auto end = parse_number<std::int64_t>(text.substr(colon + 1));
  if (!begin || !end || *begin < 0 || *end <= *begin) return std::nullopt;
  return Range{*begin, *end};
}

std::optional<std::uint64_t> size_of_spec(std::string_view spec) {
  constexpr std::int64_t kMaxUnits = 1'000'000;  // 1 PB, far from overflow
  std::uint64_t unit = 1000;
  for (const char* name : {"KB", "MB", "GB"}) {
    if (spec.ends_with(name)) {
      const auto units = parse_number<std::int64_t>(spec.substr(0, spec.size() - 2));
      if (!units || *units < 1 || *units > kMaxUnits) return std::nullopt;
      return static_cast<std::uint64_t>(*units) * unit;
    }
    unit *= 1000;
  }
  return std::nullopt;
}

Result<std::vector<Range>> plan_layer_shards(std::string_view spec,
                                             const std::vector<Piece>& pieces,
                                             artifact::PackageForm form) {
  const std::int64_t layers = std::ranges::count(pieces, true, &Piece::ends_layer);
  if (spec == "auto") return fill_evenly(pieces, limits_of(kShardBytes, form));
  if (const auto budget = size_of_spec(spec)) return fill_evenly(pieces, limits_of(*budget, form));
  if (spec.find(':') != spec.npos) {
    ANEMONE_ASSIGN_OR_RETURN(const std::vector<Range> ranges, parse_ranges(spec, layers));
    return pieces_of(ranges, pieces);
  }
  const auto parts = spec == "each" ? layers : parse_number<std::int64_t>(spec);
  if (!parts || *parts < 1 || *parts > layers) return spec_error(spec, layers);
  return pieces_of(even_ranges(layers, *parts), pieces);
}

Result<std::vector<Range>> plan_expert_packs(std::string_view spec,
                                             const std::vector<std::uint64_t>& expert_bytes) {
  const auto experts = static_cast<std::int64_t>(expert_bytes.size());
  const auto parts = spec == "each" ? experts : parse_number<std::int64_t>(spec);
  if (parts) {
    if (*parts >= 1 && *parts <= experts) return even_ranges(experts, *parts);
  } else if (const auto bytes = spec == "auto" ? kExpertPackBytes : size_of_spec(spec)) {
    std::vector<Piece> pieces;
    for (const std::uint64_t each : expert_bytes) pieces.push_back({.bytes = each});
    return fill_evenly(pieces, {.bytes = *bytes});
  }
  return invalid_argument(
      "[--plan] expected packages of experts as auto, each, a size such as 100MB, or a number from "
      "1 to {}, got \"{}\"",
      experts, spec);
}

Result<std::vector<std::vector<Range>>> plan_heads(
    artifact::HeadOutputs outputs, std::int64_t vocab_size, std::uint64_t bytes_per_row,
    const std::function<bool(std::int64_t rows)>& is_slow, std::int64_t packages,
    std::uint64_t max_bytes) {
  if (packages > 0) return heads_by_number(outputs, vocab_size, packages);
  const bool is_split = outputs == artifact::HeadOutputs::kSplit;
  ANEMONE_ASSIGN_OR_RETURN(
      const std::vector<Range> ranges,
      vocabulary_ranges(vocab_size, bytes_per_row, is_split ? kMaxChannels : kMaxWholeHead,
                        max_bytes, is_slow));
  std::vector<std::vector<Range>> out;
  if (!is_split) {
    for (const Range& range : ranges) out.push_back({range});
    return out;
  }
  std::vector<Piece> pieces;
  for (const Range& range : ranges)
    pieces.push_back(
        {.bytes = static_cast<std::uint64_t>(range.end - range.begin) * bytes_per_row});
  for (const Range& package : fill_evenly(pieces, {.bytes = max_bytes}))
    out.emplace_back(ranges.begin() + package.begin, ranges.begin() + package.end);
  return out;
}

}  // namespace anemone::ane
