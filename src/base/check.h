// SPDX-License-Identifier: Apache-2.0
// Invariants of our own code. They are never used on input: an input error is a Status.
#pragma once

namespace anemone {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace anemone

// Active in every build. Prints the condition and its place, then aborts.
#define ANEMONE_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::anemone::check_failed(#condition, __FILE__, __LINE__))

#ifdef NDEBUG
#define ANEMONE_DCHECK(condition) static_cast<void>(0)
#else
#define ANEMONE_DCHECK(condition) ANEMONE_CHECK(condition)
#endif
