// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "ane/limits.h"
#include "artifact/form.h"

namespace anemone::ane {

// [begin, end) of pieces or vocabulary rows.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// "0:12"; nullopt for anything else, also for an empty range.
std::optional<Range> parse_range(std::string_view text);

// "500KB", "100MB", "2GB" (powers of ten), of a number up to 1,000,000; nullopt for another spec.
std::optional<std::uint64_t> size_of_spec(std::string_view spec);

// What stays together in one package: a layer, or a part of one that can be cut.
struct Piece {
  std::uint64_t bytes = 0;      // stored
  bool ends_layer = true;       // the next piece begins another layer
  bool ends_package = false;    // the next piece is never in the same package
  std::int64_t operations = 0;  // of its widest function, constants not counted
};

// How the pieces of all layers are dealt out to packages. `spec` is the user's word:
//   "auto"         as few packages of at most kShardBytes as possible, of those plans the ones that
//                  cut the fewest layers, of those the most evenly filled
//   "100MB"        the same with packages of at most so many bytes (KB, MB or GB, powers of ten)
//   "each"         a package for each layer
//   "4"            that many ranges of about equally many whole layers; a range becomes several
//                  packages where a piece has ends_package
//   "0:12,12:24"   the same with these ranges of layers, which must cover all layers in order
// With kBounded packages, the first two keep to kMaxLayers and kMaxOperations, too. A piece above a
// limit gets a package of its own. The ranges are of pieces, not of layers. kInvalidArgument when
// the spec does not fit.
Result<std::vector<Range>> plan_layer_shards(std::string_view spec,
                                             const std::vector<Piece>& pieces,
                                             artifact::PackageForm form);

// How the experts of a layer are dealt out to packages of their own: as few as possible of at most
// kExpertPackBytes ("auto") or of the size that `spec` says, evenly filled; that many packages
// ("8"), or one for each expert ("each"). kInvalidArgument for another spec.
Result<std::vector<Range>> plan_expert_packs(std::string_view spec,
                                             const std::vector<std::uint64_t>& expert_bytes);

// Most heads of a model, and so most packages of heads. Every step runs each of them; the largest
// published vocabularies have fewer even in packages of 2 MB.
inline constexpr std::uint64_t kMaxHeads = 1024;

// The outputs of each package of heads: ranges of the vocabulary of about the same width, multiples
// of kChannelMultiple, in packages of at most `max_bytes`, or of kChannelMultiple rows where so
// many take more. No range has a number of rows that `is_slow`, which may be null, if others serve.
//   kOne    an output for each package, of at most kMaxWholeHead columns
//   kSplit  outputs of at most kMaxChannels columns, in as few packages as possible
// With `packages` above 0 there are that many packages, or fewer where the multiples of
// kChannelMultiple fill fewer, whatever they weigh; `is_slow` is not asked, and with kOne an output
// may be wider than kMaxWholeHead. kInvalidArgument, before any range is made, where this takes
// more than kMaxHeads.
Result<std::vector<std::vector<Range>>> plan_heads(
    artifact::HeadOutputs outputs, std::int64_t vocab_size, std::uint64_t bytes_per_row,
    const std::function<bool(std::int64_t rows)>& is_slow, std::int64_t packages = 0,
    std::uint64_t max_bytes = kShardBytes);

}  // namespace anemone::ane
