// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <csignal>
#include <unistd.h>

namespace anemone::cli {
namespace {

constexpr int kInterruptedExitCode = 130;  // 128 + SIGINT, as shells have it

std::atomic<bool> flag = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not lock");

extern "C" void on_interrupt(int /*signal*/) {
  if (flag.exchange(true)) ::_exit(kInterruptedExitCode);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  // Unqualified: macOS has it as a macro.
  sigemptyset(&action.sa_mask);
  // No SA_RESTART: a read of the next line has to return.
  ::sigaction(SIGINT, &action, nullptr);
}

std::atomic<bool>& interrupt_flag() {
  return flag;
}

bool take_interrupt() {
  return flag.exchange(false);
}

}  // namespace anemone::cli
