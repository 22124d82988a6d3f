// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <cerrno>
#include <csignal>
#include <string_view>
#include <sys/time.h>
#include <termios.h>
#include <unistd.h>

#include "base/progress.h"
#include "cli/cleanup.h"

namespace anemone::cli {
namespace {

// Enough for what ends between two steps, and less than what a person notices as a wait.
constexpr suseconds_t kGraceMicroseconds = 200'000;

std::atomic<bool> flag = false;
std::atomic<bool> has_signal = false;
std::atomic<int> last_signal = SIGINT;
std::atomic<InterruptMode> current_mode = InterruptMode::kEndsProcess;
std::atomic<bool> has_terminal = false;
termios terminal;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not lock");
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not lock");
static_assert(std::atomic<InterruptMode>::is_always_lock_free, "a signal handler may not lock");

// Only what a signal handler may call.
[[noreturn]] void end_by_signal() {
  if (has_terminal) ::tcsetattr(STDIN_FILENO, TCSANOW, &terminal);
  // A bar makes way; the ^C that a terminal shows, or half an answer, gets its line ended.
  std::string_view text = "anemone: interrupted\n";
  if (is_progress_drawn())
    text = "\r\033[Kanemone: interrupted\n";
  else if (::isatty(STDERR_FILENO) == 1)
    text = "\nanemone: interrupted\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  start_cleanup();
  const int number = last_signal;
  ::signal(number, SIG_DFL);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, number);
  ::kill(::getpid(), number);
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  ::_exit(128 + number);  // as shells have it
}

extern "C" void on_grace_over(int /*signal*/) {
  end_by_signal();
}

extern "C" void on_interrupt(int signal) {
  const int saved = errno;
  last_signal = signal;
  const bool is_second = has_signal.exchange(true);
  flag = true;
  if (is_second) end_by_signal();
  if (current_mode == InterruptMode::kEndsProcess || signal != SIGINT) {
    const itimerval grace = {.it_interval = {},
                             .it_value = {.tv_sec = 0, .tv_usec = kGraceMicroseconds}};
    ::setitimer(ITIMER_REAL, &grace, nullptr);
  }
  errno = saved;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  // Unqualified: macOS has it as a macro.
  sigemptyset(&action.sa_mask);
  // No SA_RESTART: a read of the next line has to return.
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void catch_interrupts(InterruptMode mode) {
  current_mode = mode;
  handle(SIGALRM, on_grace_over);
  handle(SIGINT, on_interrupt);
  for (const int signal : {SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    // A signal that is ignored stays so: nohup ignores SIGHUP.
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
      handle(signal, on_interrupt);
  }
}

std::atomic<bool>& interrupt_flag() {
  return flag;
}

bool take_interrupt() {
  has_signal = false;
  return flag.exchange(false);
}

bool is_interrupted() {
  return has_signal;
}

void end_interrupted() {
  end_by_signal();
}

void remember_terminal() {
  if (!has_terminal && ::tcgetattr(STDIN_FILENO, &terminal) == 0) has_terminal = true;
}

}  // namespace anemone::cli
