// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exec/coreml/runtime.h"
#include "exec/executor.h"

namespace anemone::exec::coreml {

// The states of one sequence in the memory of Core ML, which owns it and may move it between calls.
// Slice and blend caches look the same from here: the package writes them. Single-thread, and not
// in use by a run while it is read or written.
class CoreMlStateStore : public StateStore {
 public:
  // Without states there is no handle. `owner` is the number of the program that it belongs to: an
  // address would come again when the store outlives its program.
  CoreMlStateStore(std::shared_ptr<CoreMlRuntime> runtime, std::uint64_t owner,
                   std::vector<Feature> states);
  ~CoreMlStateStore() override;

  const std::vector<Feature>& states() const override { return states_; }
  Result<Tensor> read(std::string_view name) const override;
  Status write(std::string_view name, const TensorView& value) override;
  // In place where the rows are not padded.
  Status edit(std::string_view name,
              const std::function<void(const MutableTensorView&)>& edit) override;
  // An error of Core ML shows in the next call.
  void reset() override;

  std::uint64_t owner() const { return owner_; }
  StateHandle handle() const { return handle_; }
  // Makes the states serve a model of `revision` (package_models.h): nothing where they do
  // already, else their values go to new ones. The old ones stay after an error.
  Status move_to(ModelHandle model, std::uint64_t revision, std::string_view subject);

 private:
  Result<const Feature*> find(std::string_view name) const;
  // Calls `use` with the array of a state, whose dtype and shape were checked.
  Status access(const Feature& state, const std::function<Status(const Array&)>& use) const;

  const std::shared_ptr<CoreMlRuntime> runtime_;
  const std::uint64_t owner_;
  const std::vector<Feature> states_;
  StateHandle handle_ = StateHandle::kNone;
  std::uint64_t revision_ = 0;
  Status reset_failure_;
};

}  // namespace anemone::exec::coreml
