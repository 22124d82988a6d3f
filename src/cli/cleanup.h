// SPDX-License-Identifier: Apache-2.0
// Removes the unfinished files of a process that an interrupt (interrupt.h) ended in the middle of
// its work. The process cannot do that itself: its threads write until they have ended, and a
// person should not have to wait for that. So a second process of the same executable waits until
// the first one is gone, and removes what it left.
#pragma once

#include <optional>
#include <string>

namespace anemone::cli {

// While an object of this class lives, an interrupt that ends the process starts the cleanup of a
// path. Only one may live at a time. Not thread-safe.
class Cleanup {
 public:
  enum class Kind {
    kOutput,   // of compile: the unfinished work beside this output folder (OUTPUT.partial)
    kScratch,  // this scratch folder (base/scratch_folder.h)
  };
  Cleanup(Kind kind, const std::string& path);
  ~Cleanup();
  Cleanup(const Cleanup&) = delete;
  Cleanup& operator=(const Cleanup&) = delete;
};

// Starts the cleanup of the Cleanup that lives, if one does. It only calls what a signal handler
// may call.
void start_cleanup();

// If the command line is that of a cleanup, does the cleanup and returns the exit code.
std::optional<int> run_cleanup(int argc, const char* const* argv);

}  // namespace anemone::cli
