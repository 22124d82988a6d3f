// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "exec/executor.h"

namespace anemone::api {

// The executor of this machine. The one place that names an implementation: callers above see the
// interface alone. `threads` 0: as many as this process may use.
std::unique_ptr<exec::Executor> make_executor(int threads);

}  // namespace anemone::api
