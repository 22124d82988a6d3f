// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace anemone::cli {

// Ctrl-C as a request instead of the end of the process. The first one sets the flag, so that the
// work in progress can stop in order; another one before the flag is taken ends the process with
// code 130. Blocking reads return EINTR.
void catch_interrupts();
// Set by a Ctrl-C; lives as long as the process. Generation polls it.
std::atomic<bool>& interrupt_flag();
// Whether there was a Ctrl-C; clears the flag.
bool take_interrupt();

}  // namespace anemone::cli
