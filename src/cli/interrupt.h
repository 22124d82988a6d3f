// SPDX-License-Identifier: Apache-2.0
// Ctrl-C (SIGINT), and the signals that a closing terminal (SIGHUP) and a service manager (SIGTERM)
// send. A command that is interrupted says so in one line and ends as the signal ends a process, so
// that a shell sees 130, 129 or 143, and a loop around the command ends as well. The work in
// progress may end in order, for a moment. After that the process ends whatever it does, since no
// phase of it (a download, the read of a large file, one step of a large model) may keep a person
// waiting. It leaves behind what a kill leaves: a Cleanup (cleanup.h) removes what it names, and
// the next run takes over or removes the rest.
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
// A flag that a signal sets, or whoever wants the work in progress to stop; it lives as long as the
// process. Generation, compilation and downloads poll it.
std::atomic<bool>& interrupt_flag();
// Clears the flag, and returns whether it was set.
bool take_interrupt();
// True if a signal came that take_interrupt() has not taken.
bool is_interrupted();

// Says "anemone: interrupted" in a line of its own and ends the process by the signal that came, or
// by SIGINT.
[[noreturn]] void end_interrupted();

// The settings of the terminal of stdin as they are now are put back when an interrupt ends the
// process. For whoever changes them; nothing where there is no terminal.
void remember_terminal();

}  // namespace anemone::cli
