// SPDX-License-Identifier: Apache-2.0
#include "api/executors.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/error.h"
#include "exec/ane_direct/ane_executor.h"
#include "exec/coreml/coreml_executor.h"
#include "exec/cpu/cpu_executor.h"

namespace anemone::api {
namespace {

// Not among the choices: only builds for experiments have it (docs/ane-direct.md).
constexpr std::string_view kAneDirect = "ane-direct";

Result<std::unique_ptr<exec::Executor>> make_ane_direct(const ExecutorOptions& options,
                                                        const exec::CpuOptions& cpu) {
  namespace ane_direct = exec::ane_direct;
  auto runtime = ane_direct::make_ane_runtime();
  if (runtime == nullptr)
    return unsupported(
        "[--executor] expected cpu or coreml, since this build does not call the private classes "
        "of "
        "the Neural Engine, got {}",
        kAneDirect);
  ANEMONE_ASSIGN_OR_RETURN(
      auto executor,
      ane_direct::make_ane_executor(std::move(runtime), {.cpu = cpu, .on_note = options.on_note}));
  return std::unique_ptr<exec::Executor>(std::move(executor));
}

Result<std::unique_ptr<exec::Executor>> make_coreml(const ExecutorOptions& options) {
  namespace coreml = exec::coreml;
  auto runtime = coreml::make_coreml_runtime();
  if (runtime == nullptr)
    return unsupported("[--executor] expected cpu, since Core ML needs macOS 15, got coreml");
  if (!options.isa.empty())
    return invalid_argument(
        "[--isa] expected no kernels for Core ML, which has its own, got \"{}\"", options.isa);
  if (!options.coreml_cache)
    return invalid_argument("[executor] expected a folder for what Core ML compiles, got none");
  coreml::CoreMlOptions out;
  ANEMONE_ASSIGN_OR_RETURN(out.cache_folder, options.coreml_cache());
  out.cancel = options.cancel;
  out.falls_back = options.falls_back;
  if (options.on_note)
    out.on_event = [note = options.on_note](const coreml::LoadEvent& event) {
      if (event.stage == coreml::LoadEvent::Stage::kNote) note(event.text);
      if (event.stage == coreml::LoadEvent::Stage::kCompiling)
        note(fmt::format("Core ML compiles {}: minutes, the first time", event.package));
    };
  return std::unique_ptr<exec::Executor>(coreml::make_coreml_executor(std::move(runtime), out));
}

}  // namespace

Result<std::unique_ptr<exec::Executor>> make_executor(const ExecutorOptions& options) {
  const bool is_cpu = options.kind.empty() || options.kind == "cpu";
  if (!is_cpu && options.kind != "coreml" && options.kind != kAneDirect)
    return invalid_argument("[--executor] expected cpu or coreml, got \"{}\"", options.kind);
  if (!options.delta_net.empty() && options.delta_net != "exact" && options.delta_net != "chunked")
    return invalid_argument("[--delta-net] expected exact or chunked, got \"{}\"",
                            options.delta_net);
  const bool is_chunked = options.delta_net == "chunked";
  if (is_chunked && (!is_cpu || options.isa == kReferenceIsa))
    return invalid_argument(
        "[--delta-net] expected exact with {}, got chunked, which only the fast kernels of the CPU "
        "have",
        options.isa == kReferenceIsa ? "--isa reference" : "--executor " + options.kind);
  if (options.kind == "coreml") return make_coreml(options);
  namespace simd = kernels::simd;
  exec::CpuOptions cpu{.threads = options.threads,
                       .maps_weights = options.maps_weights,
                       .chunks_delta_nets = is_chunked};
  if (options.isa == kReferenceIsa) {
    cpu.is_reference = true;
  } else if (!options.isa.empty()) {
    const std::vector<simd::Isa> supported = simd::supported_isas();
    const auto isa = simd::parse_isa(options.isa);
    if (!isa || std::ranges::find(supported, *isa) == supported.end()) {
      std::string names(kReferenceIsa);
      for (const simd::Isa known : supported) names.append(", ").append(simd::isa_name(known));
      return invalid_argument("[--isa] expected one of {}, got \"{}\"", names, options.isa);
    }
    cpu.isa = *isa;
  }
  if (options.kind == kAneDirect) return make_ane_direct(options, cpu);
  return exec::make_cpu_executor(cpu);
}

std::vector<std::string> isa_names() {
  std::vector<std::string> names;
  for (const kernels::simd::Isa isa : kernels::simd::known_isas())
    names.emplace_back(kernels::simd::isa_name(isa));
  names.emplace_back(kReferenceIsa);
  return names;
}

std::vector<ExecutorChoice> executor_choices() {
  const bool has_coreml = exec::coreml::make_coreml_runtime() != nullptr;
  return {{"cpu", true, kernels::simd::isa_name(kernels::simd::best_isa())},
          {"coreml", has_coreml, has_coreml ? "with --executor coreml" : "needs macOS 15"}};
}

}  // namespace anemone::api
