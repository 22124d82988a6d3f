// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

#include "engine/constraint/stage_constraint.h"
#include "grammar/tokens/token_constraint.h"
#include "grammar/tokens/token_mask.h"

namespace anemone::engine {

// What holds one answer to its form while it is made, whether that is a grammar or a manifest of
// stages: for each step mask(), then accept() of the token that was picked from what it allows.
// There is always a token that may come, until the answer has ended. Copies are independent.
// Single-thread.
class Constraint {
 public:
  explicit Constraint(grammar::TokenConstraint form) : form_(std::move(form)) {}
  explicit Constraint(StageConstraint form) : form_(std::move(form)) {}

  Result<std::shared_ptr<const grammar::TokenMask>> mask() {
    return std::visit([](auto& form) { return form.mask(); }, form_);
  }
  // kInvalidArgument if the mask does not allow the token; nothing changes then.
  Status accept(std::int32_t id) {
    return std::visit([&](auto& form) { return form.accept(id); }, form_);
  }
  // Nothing can follow: generation stops.
  bool has_ended() const {
    return std::visit([](const auto& form) { return form.has_ended(); }, form_);
  }
  // Null for an answer that has no stages.
  const StageCounts* stages() const {
    const auto* stages = std::get_if<StageConstraint>(&form_);
    return stages != nullptr ? &stages->counts() : nullptr;
  }

 private:
  std::variant<grammar::TokenConstraint, StageConstraint> form_;
};

}  // namespace anemone::engine
