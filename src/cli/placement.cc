// SPDX-License-Identifier: Apache-2.0
#include "cli/placement.h"

#include <algorithm>

#include "api/executors.h"
#include "base/error.h"
#include "base/log.h"
#include "base/path.h"

namespace anemone::cli {

void add_require_ane_flag(CLI::App& command, bool& is_required) {
  command.add_flag("--require-ane", is_required,
                   "Refuse to start unless Core ML plans every convolution, linear operation and\n"
                   "matrix product on the Neural Engine (with --executor coreml)");
}

Status check_require_ane(bool is_required, const Context& context) {
  if (!is_required) return {};
  const auto choices = api::executor_choices();
  const auto coreml = std::ranges::find(choices, "coreml", &api::ExecutorChoice::name);
  if (coreml == choices.end() || !coreml->is_available)
    return unsupported(
        "[--require-ane] expected Core ML, which needs macOS 15 and is not on this system; "
        "anemone check predicts where operations run");
  if (context.executor_kind != "coreml")
    return invalid_argument(
        "[--require-ane] expected --executor coreml, without which nothing runs on the Neural "
        "Engine");
  return {};
}

Result<std::optional<api::ModelResidency>> place_model(const engine::Model& model, bool is_required,
                                                       const Context& context) {
  if (context.executor_kind != "coreml") return std::optional<api::ModelResidency>();
  auto placed = api::residency_of(model);
  if (!placed.ok()) {
    // Whoever requires nothing can run without knowing.
    if (is_required) return placed.status();
    ANEMONE_WARN("where Core ML runs {} is not known: {}", last_name(model.path()),
                 placed.status().message());
    return std::optional<api::ModelResidency>();
  }
  ANEMONE_DEBUG("{} is {}", last_name(model.path()), placed->summary());
  if (is_required) ANEMONE_RETURN_IF_ERROR(placed->check_products("--require-ane"));
  return std::optional(*std::move(placed));
}

}  // namespace anemone::cli
