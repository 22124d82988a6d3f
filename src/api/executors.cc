// SPDX-License-Identifier: Apache-2.0
#include "api/executors.h"

#include "exec/cpu/cpu_executor.h"

namespace anemone::api {

std::unique_ptr<exec::Executor> make_executor(int threads) {
  return exec::make_cpu_executor({.threads = threads});
}

std::vector<ExecutorChoice> executor_choices() {
#ifdef __APPLE__
  constexpr std::string_view kNoCoreMl = "not in this build";
#else
  constexpr std::string_view kNoCoreMl = "needs macOS";
#endif
  return {{"cpu", true, "reference interpreter"}, {"coreml", false, kNoCoreMl}};
}

}  // namespace anemone::api
