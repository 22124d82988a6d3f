// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signal.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

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
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    const bool is_ignored =
        ::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
    // nohup ignores SIGHUP, so that it does not stop the server.
    if (signal != SIGHUP || !is_ignored) ::sigaction(signal, &action, nullptr);
  }
  return ends[0];
}

StopDeadline::StopDeadline(int stop, std::chrono::milliseconds time, std::function<void()> clean_up)
    : clean_up_(std::move(clean_up)) {
  // If there is no pipe, the deadline is not watched: the process has other troubles then.
  if (::pipe(disarm_) != 0) return;
  for (const int end : disarm_) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  thread_ = std::thread([this, stop, time] { watch(stop, time); });
}

StopDeadline::~StopDeadline() {
  if (!thread_.joinable()) return;
  ::close(disarm_[1]);
  thread_.join();
  ::close(disarm_[0]);
}

void StopDeadline::watch(int stop, std::chrono::milliseconds time) {
  std::array<pollfd, 2> waits = {pollfd{disarm_[0], POLLIN, 0}, pollfd{stop, POLLIN, 0}};
  while (::poll(waits.data(), waits.size(), -1) < 0) continue;
  if (waits[0].revents != 0) return;
  const auto end = std::chrono::steady_clock::now() + time;
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    if (::poll(waits.data(), 1, static_cast<int>(left.count())) > 0) return;
  }
  if (clean_up_) clean_up_();
  ::_exit(exit_code(Code::kCancelled));
}

}  // namespace anemone::cli
