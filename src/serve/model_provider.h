// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/model/model.h"
#include "exec/placement.h"

namespace anemone::serve {

// A model, ready to run, and what is told of it.
struct LoadedModel {
  std::shared_ptr<const engine::Model> model;
  // Where Core ML plans to run it; none: Core ML does not run it, or tells nothing.
  std::optional<exec::Placement> placement = std::nullopt;
  std::uint64_t bytes = 0;  // of its files
};

// Where a server gets its models from. It stands outside of `serve`, which knows nothing of the
// hub, of checkpoints and of compilation.
class ModelProvider {
 public:
  virtual ~ModelProvider() = default;
  // The bytes of the model's files if they are known before it is loaded, else 0. Any thread may
  // call it.
  virtual std::uint64_t bytes(const std::string& name) {
    static_cast<void>(name);
    return 0;
  }
  // Loads the model of this name, the first of its names in the pool. One call at a time, on any
  // thread, which may take as long as it needs; it ends soon, with kCancelled, once `cancel` is
  // set. Whoever calls it again after an error tries again.
  virtual Result<LoadedModel> load(const std::string& name, const std::atomic<bool>& cancel) = 0;
};

}  // namespace anemone::serve
