// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/plan_report.h"
#include "cli/inspect.h"
#include "exec/executor.h"

namespace anemone::cli {

// One run of a package: files by path, empty where they are not given.
struct PredictRequest {
  std::string package;
  std::string function;  // empty: the default function
  std::string inputs;
  std::vector<std::string> values;  // inputs one by one, NAME=VALUE (predict_values.h)
  std::string fill;                 // the value of all inputs that are not given; empty: none
  std::string outputs;              // a safetensors file, an array or a picture
  std::string state_in;
  std::string state_out;
};

// {"package","function","inputs","outputs","state_in","state_out"}; absent members come from
// `defaults`. kParseError or kInvalidArgument for anything else.
Result<PredictRequest> parse_predict_request(std::string_view line, const PredictRequest& defaults);

// Runs requests; keeps the last package loaded for as long as its files do not change.
// Single-thread.
class PredictSession {
 public:
  // `is_timed`: the steps of each run are timed, for plan().
  explicit PredictSession(std::unique_ptr<exec::Executor> executor, bool is_timed = false)
      : executor_(std::move(executor)), is_timed_(is_timed) {}

  // Either all output files of the request are written, or none is. `report`, if it is not null, is
  // set to what the outputs are.
  Status run(const PredictRequest& request, Report* report = nullptr);
  // The time of each step of the last run, which must have succeeded.
  Result<bench::PlanReport> plan(const PredictRequest& request) const;

 private:
  Result<std::shared_ptr<const exec::LoadedProgram>> load(const std::string& path);

  std::unique_ptr<exec::Executor> executor_;
  bool is_timed_;
  std::string loaded_path_;
  std::string loaded_version_;
  std::shared_ptr<const exec::LoadedProgram> loaded_;
};

}  // namespace anemone::cli
