// SPDX-License-Identifier: Apache-2.0
// `anemone bench` of a package that is no part of a compiled model: how long its functions take.
#include <algorithm>
#include <chrono>
#include <deque>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "api/executors.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/name_index.h"
#include "cli/bench.h"
#include "cli/inspect.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/predict_values.h"
#include "mlpackage/compiled_reader.h"

namespace anemone::cli {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct PackageTimes {
  std::int64_t threads = 1;
  double load_ms = 0;
  std::vector<double> run_ms;  // in order

  double median() const {
    const std::size_t middle = run_ms.size() / 2;
    return run_ms.size() % 2 == 1 ? run_ms[middle] : (run_ms[middle - 1] + run_ms[middle]) / 2;
  }
};

// The given values, and random ones for all other inputs that must be given.
Status make_inputs(std::vector<GivenValue> given, const mlpackage::FunctionInterface& interface,
                   const exec::Signature& signature, std::deque<Tensor>& tensors,
                   exec::Inputs& inputs) {
  fill_others("random", signature, inputs, given);
  for (const GivenValue& value : given) {
    ANEMONE_ASSIGN_OR_RETURN(Tensor tensor, named_input_tensor(value, signature, interface));
    tensors.push_back(std::move(tensor));
    inputs.push_back({signature.input(value.name)->name, tensors.back().view()});
  }
  return {};
}

// Every run begins with the same states, so it has to give what the first one gave.
Status check_same(const exec::Outputs& first, const exec::Outputs& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorView a = first[i].tensor.view();
    const TensorView b = outputs[i].tensor.view();
    if (a.shape != b.shape || !std::ranges::equal(a.bytes(), b.bytes()))
      return internal_error("[{}] expected the same values in every run, got others",
                            outputs[i].name);
  }
  return {};
}

Result<PackageTimes> time_package(const std::string& path, const std::string& function,
                                  const mlpackage::FunctionInterface& interface,
                                  const std::vector<GivenValue>& given, const BenchOptions& options,
                                  std::int64_t threads) {
  PackageTimes out;
  out.threads = threads;
  ANEMONE_ASSIGN_OR_RETURN(const auto executor, api::make_executor(options.executor_of(threads)));
  const Clock::time_point start = Clock::now();
  ANEMONE_ASSIGN_OR_RETURN(const auto program, executor->load(path, {.functions = {function}}));
  out.load_ms = milliseconds_since(start);
  const exec::Signature* signature = program->signature(function);
  if (signature == nullptr)
    return not_found("[{}] expected the function {}, got none", path, function);
  std::deque<Tensor> tensors;
  exec::Inputs inputs;
  ANEMONE_RETURN_IF_ERROR(make_inputs(given, interface, *signature, tensors, inputs));
  ANEMONE_ASSIGN_OR_RETURN(const auto store, program->make_state());
  // The first run plans and is not timed.
  exec::Outputs first;
  ANEMONE_RETURN_IF_ERROR(program->run(function, inputs, first, store.get()));
  exec::Outputs outputs;
  for (int i = 0; i < options.repetitions; ++i) {
    if (interrupt_flag()) return cancelled("[bench] interrupted");
    store->reset();
    const Clock::time_point begin = Clock::now();
    ANEMONE_RETURN_IF_ERROR(program->run(function, inputs, outputs, store.get()));
    out.run_ms.push_back(milliseconds_since(begin));
    ANEMONE_RETURN_IF_ERROR(check_same(first, outputs));
  }
  std::ranges::sort(out.run_ms);
  return out;
}

// What is measured of models alone.
Status check_package_flags(const BenchFlags& flags) {
  const BenchFlags none;
  for (const auto& [is_given, flag] : {std::pair(flags.prefill != none.prefill, "--prefill"),
                                       {flags.decode != none.decode, "--decode"},
                                       {flags.depth.has_value(), "--depth"},
                                       {flags.streams != none.streams, "--streams"},
                                       {flags.is_suite, "--suite"},
                                       {flags.is_explain, "--explain"},
                                       {!flags.plot.empty(), "--plot"},
                                       {flags.drafts.is_on(), "--draft"}})
    if (is_given)
      return invalid_argument("[{}] expected a model, got a package (see anemone bench --help)",
                              flag);
  return {};
}

}  // namespace

Status run_bench_package(const BenchFlags& flags, const BenchOptions& options,
                         const std::string& path) {
  ANEMONE_RETURN_IF_ERROR(check_package_flags(flags));
  ANEMONE_ASSIGN_OR_RETURN(const auto given, given_values(flags.values));
  ANEMONE_ASSIGN_OR_RETURN(const mlpackage::Model model, mlpackage::read_model(path));
  const std::string& function = flags.function.empty() ? model.default_function : flags.function;
  const mlpackage::FunctionInterface* interface = model.function(function);
  if (interface == nullptr)
    return not_found("[--function] expected one of the functions {}, got {}",
                     names_of(model.functions), function);
  std::vector<std::vector<std::string>> rows = {
      {"threads", "load ms", "run ms", "least", "most", "runs/s"}};
  Json json = {{"file", path}, {"function", function}, {"results", Json::array()}};
  for (const std::int64_t threads : options.threads) {
    ANEMONE_ASSIGN_OR_RETURN(const PackageTimes times,
                             time_package(path, function, *interface, given, options, threads));
    const double median = times.median();
    const double per_second = median > 0 ? 1000 / median : 0;
    rows.push_back({std::to_string(threads), fmt::format("{:.3f}", times.load_ms),
                    fmt::format("{:.3f}", median), fmt::format("{:.3f}", times.run_ms.front()),
                    fmt::format("{:.3f}", times.run_ms.back()), fmt::format("{:.1f}", per_second)});
    json["results"].push_back({{"threads", threads},
                               {"load_ms", times.load_ms},
                               {"run_ms", median},
                               {"least_ms", times.run_ms.front()},
                               {"most_ms", times.run_ms.back()},
                               {"repetitions", times.run_ms.size()}});
  }
  if (flags.is_json) return print_json(json, 2);
  return print_report(
      fmt::format("{}: function {}, {}\n", escaped(path), escaped(function),
                  given.empty() ? "random inputs" : "random inputs but for those of --input") +
      table(rows, "  "));
}

}  // namespace anemone::cli
