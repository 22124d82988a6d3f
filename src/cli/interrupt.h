// SPDX-License-Identifier: Apache-2.0
// Ctrl-C, and the signals that a terminal that closes and a service manager send. A command that is
// interrupted says so in one line and ends as the signal ends a process, so that a shell sees 130
// and a loop around the command ends as well. The work in
// progress may end in order, for a moment: after that the process ends whatever it does, since no
// phase of it (a download, the read of a large file, one step of a large model) may keep a person
// waiting. What is left behind is what a kill leaves, which the next run takes over or removes, but
// for what a Cleanup (cleanup.h) names.
#pragma once

#include <atomic>

namespace anemone::cli {

enum class InterruptMode {
  kEndsProcess,
  // A chat: SIGINT only sets the flag, which stops an answer; a second signal before the flag is
  // taken ends the process at once.
  kStopsAnswer,
};

// Catches SIGINT from now on, and SIGTERM and SIGHUP where they are not ignored; blocking reads
// return EINTR.
void catch_interrupts(InterruptMode mode = InterruptMode::kEndsProcess);
// Set by a Ctrl-C, or by whoever wants the work in progress to stop; lives as long as the process.
// Generation, compilation and downloads poll it.
std::atomic<bool>& interrupt_flag();
// Whether the flag was set; clears it.
bool take_interrupt();
// Whether a signal came that nobody has taken.
bool is_interrupted();

// Says "anemone: interrupted" in a line of its own and ends the process by the signal that came, or
// by SIGINT.
[[noreturn]] void end_interrupted();

// The settings of the terminal of stdin as they are now are put back when an interrupt ends the
// process. For whoever changes them; nothing where there is no terminal.
void remember_terminal();

}  // namespace anemone::cli
