// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace anemone {

// Makes bytes of private memory (of malloc and the like) zero, in a time that follows the memory
// that was written: pages that were not touched stay so, and the system takes back those that were.
void zero_memory(std::byte* data, std::size_t count);

}  // namespace anemone
