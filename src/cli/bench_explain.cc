// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_explain.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "bench/model_cost.h"
#include "bench/plan_report.h"
#include "bench/speed.h"
#include "cli/interrupt.h"
#include "cli/output.h"

namespace anemone::cli {
Status run_explain(const BenchOptions& options, bool is_json) {
  ANEMONE_ASSIGN_OR_RETURN(const auto model,
                           load_for_bench(options, options.threads.front(), false));
  const engine::FunctionPlan& decode = bench::decode_plan(*model);
  const engine::FunctionPlan& prefill = bench::prefill_plan(*model);
  bench::SpeedTest test(model, options.repetitions, &interrupt_flag());
  std::vector<bench::PlanReport> reports;

  // Prefill and decode are one function in a model with a single one-token function, and in one
  // with a flexible function, which has a plan for each width.
  const std::int64_t width = std::min(prefill.function->tokens, model->context());
  if (prefill.function != decode.function || (prefill.function->is_flexible && width > 1)) {
    ANEMONE_RETURN_IF_ERROR(test.prefill(width, 0).status());
    ANEMONE_RETURN_IF_ERROR(bench::set_timed(*model, true));
    ANEMONE_RETURN_IF_ERROR(test.prefill(width, 0).status());
    ANEMONE_ASSIGN_OR_RETURN(
        auto report,
        bench::report_of(*model,
                         fmt::format("prefill of {} tokens ({})", width, prefill.function->name),
                         prefill, decode.head_function));
    reports.push_back(std::move(report));
  }
  const std::int64_t depth = options.depths.front();
  const std::int64_t steps = options.decode.empty() ? 1 : options.decode.front();
  if (!test.fits(steps, depth))
    return invalid_argument(
        "[--depth] {} steps after {} tokens do not fit into the context of {} tokens", steps, depth,
        model->context());
  ANEMONE_RETURN_IF_ERROR(test.decode(steps, depth, 1).status());
  ANEMONE_RETURN_IF_ERROR(bench::set_timed(*model, true));
  ANEMONE_RETURN_IF_ERROR(test.decode(steps, depth, 1).status());
  ANEMONE_ASSIGN_OR_RETURN(auto report, bench::report_of(*model,
                                                         fmt::format("decode after {} tokens ({})",
                                                                     depth, decode.function->name),
                                                         decode, decode.head_function));
  reports.push_back(std::move(report));

  if (is_json) {
    Json out = Json::array();
    for (const bench::PlanReport& each : reports) out.push_back(each.json());
    return print_json(out, 2);
  }
  std::string text = describe_model(*model) + "\n";
  for (const bench::PlanReport& each : reports) text += "\n" + each.text();
  return print_report(text);
}

}  // namespace anemone::cli
