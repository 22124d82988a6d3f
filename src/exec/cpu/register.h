// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "exec/cpu/buffer_pool.h"
#include "tensor/tensor.h"

namespace anemone::exec {

struct List;

// One value at run time: a tensor, a list of tensors, or a constant string. Copies share
// everything; what is shared does not change.
struct Register {
  TensorView view;
  BufferRef buffer;            // keeps `view` alive; null: a constant, an input or in the arena
  std::shared_ptr<List> list;  // a MIL list instead of a tensor
  std::optional<std::string_view> text;  // a constant scalar string instead of a tensor
};

struct List {
  std::vector<Register> items;  // view.data is null where nothing was written yet
  bool is_growable = true;
  std::shared_ptr<const void> memory = nullptr;  // what the items take of the limit of their run
};

using Registers = std::vector<Register>;

}  // namespace anemone::exec
