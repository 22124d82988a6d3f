// SPDX-License-Identifier: Apache-2.0
// What a person types at the terminal of stdin. For one thread at a time.
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <optional>

#include "base/descriptor.h"

namespace anemone::cli {

// Ctrl-C takes away what was typed before it, so what poll() has seen may be gone when it is read.
// A read that waits then would not hear of the signal, which has come already. So the terminal is
// opened once more, for reads that do not wait. Where that fails (a container without /dev/pts),
// stdin itself is read.
class TerminalInput {
 public:
  TerminalInput();

  // Whether there is something to read, or the end, within the time. False when a signal comes.
  bool has_input(int milliseconds) const;
  // Reads at most `size` bytes without waiting: how many there were, 0 at the end of the input
  // (Ctrl-D on an empty line), nothing where there are none yet. kIo when they cannot be read.
  Result<std::optional<std::size_t>> read(char* bytes, std::size_t size) const;

 private:
  int descriptor() const;

  Descriptor terminal_;
};

}  // namespace anemone::cli
