// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "exec/executor.h"

namespace anemone::api {

// The executor of this machine. The one place that names an implementation: callers above see the
// interface alone. `threads` 0: as many as this process may use.
std::unique_ptr<exec::Executor> make_executor(int threads);

// For reports: every executor that anemone knows, and whether this build can make it.
struct ExecutorChoice {
  std::string_view name;
  bool is_available = false;
  std::string_view note;  // what it is, or why it is not there
};
std::vector<ExecutorChoice> executor_choices();

}  // namespace anemone::api
