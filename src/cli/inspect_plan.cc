// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "api/executors.h"
#include "bench/plan_report.h"
#include "cli/inspect.h"

namespace anemone::cli {

Result<Report> inspect_plan(const InspectOptions& options) {
  ANEMONE_ASSIGN_OR_RETURN(const auto executor, api::make_executor(options.executor));
  ANEMONE_ASSIGN_OR_RETURN(const auto program, executor->load(options.path));
  Report out;
  out.json = {{"file", options.path}, {"kind", "plan"}, {"functions", Json::array()}};
  const std::string package = std::filesystem::path(options.path).filename().string();
  for (const std::string& function : program->functions()) {
    bench::PlanReport plan(fmt::format("function {}", function));
    ANEMONE_RETURN_IF_ERROR(plan.add(package, *program, function));
    out.text += (out.text.empty() ? "" : "\n") + plan.text();
    out.json["functions"].push_back(plan.json());
  }
  return out;
}

}  // namespace anemone::cli
