// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "exec/cpu/memory_limit.h"
#include "exec/cpu/prepared_program.h"

namespace anemone::exec {

// Runs operations whose operands are all constants, and keeps the results that follow from the
// constants of the program alone: later plans for other shapes take them from here. Thread-safe.
class ConstantFolder {
 public:
  explicit ConstantFolder(std::shared_ptr<MemoryLimit> limit) : limit_(std::move(limit)) {}
  // The limit on the memory of values that are computed when a function is planned.
  const std::shared_ptr<MemoryLimit>& limit() const { return limit_; }
  // Folds the constants of several functions together: puts results into PreparedFunction::initial
  // and removes the operations. Equal operations over the same bytes are run once. An operation
  // outside constexpr_* that fails or gives much data is left for the run.
  Status fold(const std::vector<PreparedFunction*>& functions, ThreadPool& threads);

 private:
  const std::shared_ptr<MemoryLimit> limit_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::vector<Register>> kept_;  // by operation and operands
};

// Whether a register has a value before a run.
bool is_known(const PreparedFunction& function, int reg);
// Removes the operations whose results are known.
void remove_known_operations(PreparedFunction& function);

}  // namespace anemone::exec
