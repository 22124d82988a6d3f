// SPDX-License-Identifier: Apache-2.0
#include "api/executors.h"

#include "exec/cpu/cpu_executor.h"

namespace anemone::api {

std::unique_ptr<exec::Executor> make_executor(int threads) {
  return exec::make_cpu_executor({.threads = threads});
}

}  // namespace anemone::api
