// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>
#include <vector>

#include "base/name_index.h"
#include "exec/cpu/buffer_pool.h"
#include "exec/executor.h"

namespace anemone::exec {

// States of the CPU executor. A run works on references to the buffers and replaces them here only
// when it has succeeded, so a failed run leaves no trace and nothing is copied either way.
// Single-thread.
class CpuStateStore : public StateStore {
 public:
  // kOutOfMemory when the states do not fit.
  static Result<std::unique_ptr<StateStore>> make(std::vector<Feature> states);

  const std::vector<Feature>& states() const override { return states_; }
  Result<Tensor> read(std::string_view name) const override;
  Status write(std::string_view name, const TensorView& value) override;
  Status edit(std::string_view name,
              const std::function<void(const MutableTensorView&)>& edit) override;
  void reset() override;

  // The index of a state in states().
  std::optional<std::size_t> place(std::string_view name) const { return by_name_.place(name); }
  // One buffer per state, in the order of states().
  std::vector<BufferRef>& buffers() { return buffers_; }

 private:
  explicit CpuStateStore(std::vector<Feature> states)
      : states_(std::move(states)), by_name_(states_) {}
  Result<std::size_t> index_of(std::string_view name) const;

  const std::vector<Feature> states_;
  const NameIndex<Feature> by_name_;
  std::vector<BufferRef> buffers_;
};

}  // namespace anemone::exec
