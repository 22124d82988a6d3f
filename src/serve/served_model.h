// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/generation/generator.h"
#include "engine/model/model.h"
#include "engine/sampling/sampling_request.h"

namespace anemone::serve {

struct ServedModel {
  std::vector<std::string> names;  // at least one; clients may use any of them
  std::shared_ptr<const engine::Model> model;
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

// What the one who runs the server says about requests that say nothing.
struct RequestDefaults {
  std::optional<std::int64_t> max_tokens;  // also the most that a request gets
  std::optional<double> temperature;
  std::optional<std::uint64_t> seed;
};

// A request's sampling over the server's defaults over the model's.
Result<engine::SamplingOptions> resolve_request(engine::SamplingRequest request,
                                                const RequestDefaults& defaults,
                                                const engine::Model& model);

}  // namespace anemone::serve
