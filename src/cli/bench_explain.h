// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include "cli/bench.h"

namespace anemone::cli {

// `bench --explain`: runs the function that reads prompts and the one that decodes, and prints what
// their steps read, compute and take.
Status run_explain(const BenchOptions& options, bool is_json);

}  // namespace anemone::cli
