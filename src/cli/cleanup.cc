// SPDX-License-Identifier: Apache-2.0
#include "cli/cleanup.h"

#include <array>
#include <atomic>
#include <chrono>
#include <fcntl.h>
#include <string_view>
#include <thread>
#include <unistd.h>

#include "base/executable_path.h"
#include "base/scratch_folder.h"
#include "compiler/output_folder.h"

namespace anemone::cli {
namespace {

// No person types this flag, so no help lists it.
constexpr char kFlag[] = "--clean-up-after-interrupt";
constexpr char kOutput[] = "output";
constexpr char kScratch[] = "scratch";
// The cleanup waits for the interrupted process, which is gone in a moment. It gives up if another
// process takes the path meanwhile and keeps it.
constexpr std::chrono::milliseconds kPause{20};
constexpr int kMaxPauses = 250;

std::string executable;
std::string path_to_clean;
std::array<const char*, 5> arguments = {};
std::atomic<bool> is_wanted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not lock");

pid_t fork_in_handler() {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
  // fork() takes the locks of malloc, which the thread that was interrupted may hold.
  return ::_Fork();
#else
  return ::fork();
#endif
}

}  // namespace

Cleanup::Cleanup(Kind kind, const std::string& path) {
  executable = executable_path();
  path_to_clean = path;
  arguments = {executable.c_str(), kFlag, kind == Kind::kOutput ? kOutput : kScratch,
               path_to_clean.c_str(), nullptr};
  is_wanted = true;
}

Cleanup::~Cleanup() {
  is_wanted = false;
}

void start_cleanup() {
  if (!is_wanted.exchange(false)) return;
  if (fork_in_handler() != 0) return;
  // Nobody waits for the new process. A closing terminal must not end it, and it must not hold the
  // pipes open of whoever started the command.
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, standard);
  ::execv(arguments[0], const_cast<char* const*>(arguments.data()));
  ::_exit(1);
}

std::optional<int> run_cleanup(int argc, const char* const* argv) {
  if (argc != 4 || std::string_view(argv[1]) != kFlag) return std::nullopt;
  const bool is_output = std::string_view(argv[2]) == kOutput;
  Status status;
  for (int i = 0; i < kMaxPauses; ++i) {
    status = is_output ? compiler::discard_unfinished(argv[3]) : ScratchFolder::discard(argv[3]);
    if (status.code() != Code::kBusy) break;
    std::this_thread::sleep_for(kPause);
  }
  return status.ok() ? 0 : 1;
}

}  // namespace anemone::cli
