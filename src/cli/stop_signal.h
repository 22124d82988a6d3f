// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

namespace anemone::cli {

// SIGINT and SIGTERM as a request to stop in order: the descriptor becomes readable with the first
// one and stays so. A second one ends the process at once, with code 128 and its number. kIo when
// the process has no descriptor left. Call once.
Result<int> catch_stop_signals();

}  // namespace anemone::cli
