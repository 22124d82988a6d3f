// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "exec/executor.h"

namespace anemone::exec::coreml {

// The sizes of a range (NSRange) that Core ML gives for a flexible dimension.
SizeRange size_range(std::uint64_t location, std::uint64_t length);

}  // namespace anemone::exec::coreml
