// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

namespace anemone::engine {

// kOutOfMemory for a request. It takes no memory itself, once it was called.
const Status& not_enough_memory();

// What the exception that is being handled means for a request.
Status caught() noexcept;

// What `action` returns, a Status or a Result, or the status of what it throws: a request that
// fails must not end the others, which run on the same thread.
template <typename Action>
auto guarded(const Action& action) noexcept -> decltype(action()) {
  try {
    return action();
  } catch (...) {
    return caught();
  }
}

}  // namespace anemone::engine
