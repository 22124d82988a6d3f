// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace anemone::ane {

// [begin, end) of layers or vocabulary rows.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// How layers are dealt out to packages. `spec` is the user's word:
//   "auto"         as few packages of at most kShardBytes as possible, evenly filled
//   "100MB"        the same with packages of at most so many bytes (MB or GB, powers of ten)
//   "4"            so many packages of about the same number of layers
//   "0:12,12:24"   exactly these ranges; they must cover all layers in order
// `layer_bytes` has the stored size of each layer. kInvalidArgument when the spec does not fit.
Result<std::vector<Range>> plan_layer_shards(std::string_view spec,
                                             const std::vector<std::uint64_t>& layer_bytes);

// Vocabulary ranges: none wider than kMaxChannels or heavier than kShardBytes, all about the same
// width.
std::vector<Range> plan_head_shards(std::int64_t vocab_size, std::uint64_t bytes_per_row);

}  // namespace anemone::ane
