// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/residency.h"

#include <algorithm>
#include <deque>
#include <fmt/core.h>
#include <map>
#include <unordered_map>

#include "ops/products.h"

namespace anemone::exec::coreml {
namespace {

// "conv" of "ios18.conv".
std::string_view bare_type(std::string_view type) {
  const std::size_t dot = type.rfind('.');
  return dot == std::string_view::npos ? type : type.substr(dot + 1);
}

// The predictions that are not matched yet. An operation of the plan whose name was predicted never
// takes the prediction of another one of its type, so names go first.
class Predictions {
 public:
  Predictions(std::span<const PlannedOperation> plan, std::span<const PredictedOperation> all)
      : left_(all.size()) {
    std::unordered_map<std::string_view, const PlannedOperation*> planned;
    for (const PlannedOperation& operation : plan) planned.emplace(operation.name, &operation);
    for (const PredictedOperation& prediction : all) {
      const auto found = planned.find(prediction.name);
      const bool is_same =
          found != planned.end() && bare_type(found->second->type) == bare_type(prediction.type);
      if (!is_same || !by_name_.emplace(prediction.name, &prediction).second)
        by_type_[bare_type(prediction.type)].push_back(&prediction);
    }
  }

  // nullptr: there is none.
  const PredictedOperation* take(const PlannedOperation& operation) {
    const PredictedOperation* out = nullptr;
    const auto named = by_name_.find(operation.name);
    if (named != by_name_.end() && bare_type(named->second->type) == bare_type(operation.type)) {
      out = named->second;
      by_name_.erase(named);
    } else if (auto& rest = by_type_[bare_type(operation.type)]; !rest.empty()) {
      out = rest.front();
      rest.pop_front();
    }
    if (out != nullptr) --left_;
    return out;
  }
  std::size_t left() const { return left_; }

 private:
  std::unordered_map<std::string_view, const PredictedOperation*> by_name_;
  std::map<std::string_view, std::deque<const PredictedOperation*>> by_type_;
  std::size_t left_;
};

Verdict verdict_of(std::size_t on_chip, std::size_t all) {
  if (all == 0) return Verdict::kUnknown;
  if (on_chip == all) return Verdict::kResident;
  return on_chip == 0 ? Verdict::kElsewhere : Verdict::kPartly;
}

}  // namespace

bool is_constant(std::string_view type) {
  return bare_type(type).starts_with("const");
}

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kResident:
      return "resident";
    case Verdict::kPartly:
      return "partly";
    case Verdict::kElsewhere:
      return "elsewhere";
    case Verdict::kUnknown:
      break;
  }
  return "unknown";
}

Residency join(std::span<const PlannedOperation> plan,
               std::span<const PredictedOperation> predictions) {
  Residency out;
  Predictions rest(plan, predictions);
  double cost = 0;
  for (const PlannedOperation& operation : plan) {
    if (is_constant(operation.type)) continue;
    const bool is_known = operation.preferred != Device::kUnknown;
    const bool is_a_product = ops::is_product(bare_type(operation.type));
    if (!is_known && !is_a_product) continue;
    const bool is_on_chip = operation.preferred == Device::kNeuralEngine;
    PlacedOperation placed{
        .name = operation.name,
        .type = std::string(bare_type(operation.type)),
        .planned = operation.preferred,
        .predicted = Device::kUnknown,
        .is_supported = std::ranges::find(operation.supported, Device::kNeuralEngine) !=
                        operation.supported.end(),
        .cost = operation.cost,
        .reason = {}};
    const PredictedOperation* prediction = rest.take(operation);
    if (prediction != nullptr) {
      placed.predicted = prediction->device;
      placed.reason = prediction->reason;
    }
    if (is_a_product) {
      ++out.products;
      if (!is_on_chip) out.products_elsewhere.push_back(placed);
    }
    if (!is_known) continue;
    if (prediction == nullptr) ++out.unpredicted;
    if (!out.operations.empty() && out.operations.back().planned != placed.planned)
      ++out.transitions;
    if (placed.is_contradicted()) ++out.contradicted;
    if (is_on_chip) {
      ++out.on_chip;
      out.cost_on_chip += operation.cost;
    }
    cost += operation.cost;
    out.operations.push_back(std::move(placed));
  }
  if (cost > 0) out.cost_on_chip /= cost;
  out.unplanned = rest.left();
  out.verdict = verdict_of(out.on_chip, out.operations.size());
  return out;
}

std::string Residency::summary() const {
  if (verdict == Verdict::kUnknown)
    return "unknown: Core ML tells of no operation where it would run";
  std::string out = fmt::format("{}: {} of {} operations on the Neural Engine, {} transitions",
                                verdict_name(verdict), on_chip, operations.size(), transitions);
  if (contradicted > 0) out += fmt::format(", {} not as predicted", contradicted);
  if (unpredicted > 0) out += fmt::format(", {} not predicted", unpredicted);
  return out;
}

}  // namespace anemone::exec::coreml
