// SPDX-License-Identifier: Apache-2.0
// The exit codes of the executable, as `anemone help exit-codes` and the manual pages show them.
// docs/errors.md has the codes of errors that they come from. Those above 128 are what a shell
// makes of a process that a signal ended (interrupt.h, stop_signal.h).
#pragma once

#include <span>
#include <string_view>

namespace anemone::cli {

struct ExitStatus {
  int code;
  std::string_view meaning;
};

// In the order of the codes.
std::span<const ExitStatus> exit_statuses();

}  // namespace anemone::cli
