// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>

#include "exec/executor.h"

namespace anemone::cli {

// Builds a small program, writes it as a package into `folder`, which must exist, reads it back
// through the executor, runs it and compares the result with the sum by hand: this tests every
// layer between a graph and its numbers in a moment. kCheckFailed when the numbers differ. The
// package stays.
Status run_smoke_test(exec::Executor& executor, const std::string& folder);

}  // namespace anemone::cli
