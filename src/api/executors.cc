// SPDX-License-Identifier: Apache-2.0
#include "api/executors.h"

#include <algorithm>

#include "base/error.h"
#include "exec/cpu/cpu_executor.h"

namespace anemone::api {

Result<std::unique_ptr<exec::Executor>> make_executor(const ExecutorOptions& options) {
  namespace simd = kernels::simd;
  exec::CpuOptions cpu{.threads = options.threads, .maps_weights = options.maps_weights};
  if (options.isa == "reference") {
    cpu.is_reference = true;
  } else if (!options.isa.empty()) {
    const std::vector<simd::Isa> supported = simd::supported_isas();
    const auto isa = simd::parse_isa(options.isa);
    if (!isa || std::ranges::find(supported, *isa) == supported.end()) {
      std::string names = "reference";
      for (const simd::Isa known : supported) names.append(", ").append(simd::isa_name(known));
      return invalid_argument("[--isa] expected one of {}, got \"{}\"", names, options.isa);
    }
    cpu.isa = *isa;
  }
  return exec::make_cpu_executor(cpu);
}

std::vector<ExecutorChoice> executor_choices() {
#ifdef __APPLE__
  constexpr std::string_view kNoCoreMl = "not in this build";
#else
  constexpr std::string_view kNoCoreMl = "needs macOS";
#endif
  return {{"cpu", true, kernels::simd::isa_name(kernels::simd::best_isa())},
          {"coreml", false, kNoCoreMl}};
}

}  // namespace anemone::api
