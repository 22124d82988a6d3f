// SPDX-License-Identifier: Apache-2.0
#include "serve/served_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/escape.h"

namespace anemone::serve {

Result<ModelSet> ModelSet::create(std::vector<ServedModel> models) {
  if (models.empty()) return invalid_argument("[MODEL] expected at least one model, got none");
  std::set<std::string> names;
  for (const ServedModel& model : models)
    for (const std::string& name : model.names)
      if (!names.insert(name).second)
        return invalid_argument(
            "[{}] two models have this name: give them different ones with --alias", name);
  ModelSet out;
  out.models_ = std::move(models);
  return out;
}

Result<const ServedModel*> ModelSet::find(std::string_view name) const {
  if (name.empty()) {
    if (models_.size() == 1) return &models_.front();
    return invalid_argument("[model] expected the name of one of the {} models, got none",
                            models_.size());
  }
  for (const ServedModel& model : models_)
    if (std::ranges::find(model.names, name) != model.names.end()) return &model;
  return not_found("[model] expected a model of this server (see /v1/models), got \"{}\"",
                   shortened(name, 200));
}

}  // namespace anemone::serve
