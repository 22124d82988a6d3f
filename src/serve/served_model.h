// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/model.h"

namespace anemone::serve {

// Where Core ML plans to run the operations of a model; products are convolutions and the like.
struct Placement {
  std::string verdict;  // "resident", "partly", "elsewhere", "unknown"
  std::size_t operations = 0;
  std::size_t on_chip = 0;
  std::size_t products = 0;
  std::size_t products_on_chip = 0;
};

struct ServedModel {
  std::vector<std::string> names;  // at least one; clients may use any of them
  std::shared_ptr<const engine::Model> model;
  std::optional<Placement> placement =
      std::nullopt;  // none: Core ML does not run it, or tells none
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
