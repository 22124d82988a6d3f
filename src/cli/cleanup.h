// SPDX-License-Identifier: Apache-2.0
// What is removed after an interrupt has ended a process in the middle of its work (interrupt.h): a
// process may not let a person wait until all its threads have ended, and while they run they write
// on. So another process, the same executable, waits until the first one is gone, and removes what
// it left.
#pragma once

#include <optional>
#include <string>

namespace anemone::cli {

// While it lives, an interrupt that ends this process starts the cleanup of a path. One at a time.
// Not thread-safe.
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

// Starts the cleanup that lives, if one does. Only calls what a signal handler may call.
void start_cleanup();

// What the other process does: the exit code, where the command line is that of a cleanup.
std::optional<int> run_cleanup(int argc, const char* const* argv);

}  // namespace anemone::cli
