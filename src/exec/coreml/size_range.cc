// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/size_range.h"

namespace anemone::exec::coreml {

// The headers do not say whether the end of a range belongs to it. A size too many is refused by
// Core ML itself, one too few would be refused here, so the end is counted in; a range of one size
// or none is a fixed size.
SizeRange size_range(std::uint64_t location, std::uint64_t length) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  const auto lower = static_cast<std::int64_t>(location);
  if (length <= 1) return {lower, lower};
  if (length > kMost || location > kMost) return {lower, SizeRange::kUnbounded};
  return {lower, static_cast<std::int64_t>(location + length)};
}

}  // namespace anemone::exec::coreml
