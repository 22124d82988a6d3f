// SPDX-License-Identifier: Apache-2.0
#include "engine/loop/guarded.h"

#include <exception>
#include <new>

#include "base/error.h"

namespace anemone::engine {

const Status& not_enough_memory() {
  static const Status status = out_of_memory("[request] there is not enough memory to answer it");
  return status;
}

Status caught() noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      return not_enough_memory();
    } catch (const std::exception& error) {
      return internal_error("[request] failed: {}", error.what());
    } catch (...) {
      return internal_error("[request] failed");
    }
  } catch (...) {
    // There was no memory for the text of the message.
    return not_enough_memory();
  }
}

}  // namespace anemone::engine
