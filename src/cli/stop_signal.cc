// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signal.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"

namespace anemone::cli {
namespace {

std::atomic<bool> has_stop = false;
std::atomic<int> stop_pipe = -1;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not lock");

extern "C" void on_stop_signal(int signal) {
  if (has_stop.exchange(true)) ::_exit(128 + signal);
  const int saved = errno;
  const char byte = 0;
  // It has room for one byte.
  [[maybe_unused]] const auto written = ::write(stop_pipe, &byte, 1);
  errno = saved;
}

}  // namespace

Result<int> catch_stop_signals() {
  int ends[2];
  if (::pipe(ends) != 0) return errno_error("signals", "make a pipe");
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  stop_pipe = ends[1];
  struct sigaction action = {};
  action.sa_handler = on_stop_signal;
  // Unqualified: macOS has it as a macro.
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
  return ends[0];
}

}  // namespace anemone::cli
