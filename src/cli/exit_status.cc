// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_status.h"

namespace anemone::cli {
namespace {

constexpr ExitStatus kExitStatuses[] = {
    {0, "success"},
    {1, "a check that was asked for failed, or the work was cut off"},
    {2, "a flag or a value of the command line is wrong"},
    {3,
     "a file or a text is damaged or does not follow its format, or does not hold what was named"},
    {4, "something outside what anemone does"},
    {5, "a file or the network could not be read or written, or the disk is full"},
    {6, "memory ran out, or another process uses the file or folder"},
    {7, "the Neural Engine or Core ML refused"},
    {70, "a bug of anemone: please report it"},
    {129, "ended by SIGHUP: its terminal was closed"},
    {130, "ended by SIGINT: Ctrl-C"},
    {143, "ended by SIGTERM, as kill and service managers send it"},
};

}  // namespace

std::span<const ExitStatus> exit_statuses() {
  return kExitStatuses;
}

}  // namespace anemone::cli
