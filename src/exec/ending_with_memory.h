// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <new>

#include "base/error.h"

namespace anemone::exec {

// f(), or kOutOfMemory where the system has no memory for what it works with.
template <typename F>
auto ending_with_memory(const F& f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return out_of_memory("not enough memory for the run");
  }
}

}  // namespace anemone::exec
