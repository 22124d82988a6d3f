// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/model.h"
#include "exec/placement.h"

namespace anemone::serve {

struct ServedModel {
  std::vector<std::string> names;  // at least one; clients may use any of them
  std::shared_ptr<const engine::Model> model;
  // Where Core ML plans to run it; none: Core ML does not run it, or tells nothing.
  std::optional<exec::Placement> placement = std::nullopt;
};

// The models of a server. Immutable and thread-safe.
class ModelSet {
 public:
  // kInvalidArgument when there is no model, or two have one name.
  static Result<ModelSet> create(std::vector<ServedModel> models);

  const std::vector<ServedModel>& models() const { return models_; }
  // The empty name is the first model when there is no other. kNotFound for an unknown name.
  Result<const ServedModel*> find(std::string_view name) const;

 private:
  std::vector<ServedModel> models_;
};

}  // namespace anemone::serve
