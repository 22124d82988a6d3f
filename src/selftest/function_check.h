// SPDX-License-Identifier: Apache-2.0
// One function of a package, run by two executors on the same inputs.
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "exec/executor.h"
#include "mlpackage/model.h"
#include "probe/inputs.h"
#include "selftest/difference.h"
#include "tensor/tensor.h"

namespace anemone::selftest {

// Executors that are compared; both outlive what is made with them.
struct Pair {
  exec::Executor& tested;
  exec::Executor& reference;
};

// The inputs of a function by name, the same for every package that is cut out of it.
using InputTensors = std::map<std::string, Tensor>;
Result<InputTensors> make_inputs(const exec::Signature& signature, const probe::Roles& roles,
                                 std::uint64_t seed);

// Runs a function once from zero states with those of the inputs that it has, and gives the error
// of each output and state of the tested executor against the reference. The errors of the tested
// executor are its own, with "[NAME] " of it before them; those of the reference are kInternal.
Result<Errors> compare(const Pair& pair, const std::string& package, const std::string& function,
                       const InputTensors& inputs);

// The first operation of a function from which on the numbers differ. The operations before it
// whose results cannot be given out (cut_after()) may be the cause as well.
struct FirstDifference {
  std::string operation;  // of its first output
  std::string type;
  std::size_t index = 0;  // among the operations that are no constants
  std::size_t count = 0;  // of those operations
  // The largest error of what crosses the last cut before it that can be compared, 0 where there is
  // none, and the cut after it.
  double error_before = 0;
  double error = 0;
  std::string failure;  // the tested executor's error, where it fails on the function cut there
};

// How the search works.
struct SearchOptions {
  std::string scratch;  // a folder that is there, for the packages
  // After each cut, whose package is gone: deletes what the tested executor keeps of it. May be
  // null.
  std::function<void()> forget = {};
  const std::atomic<bool>* cancel = nullptr;  // may be null; outlives the call
};

// Searches for the first operation after which the two executors differ, by a binary search over
// cuts of the function (cut_after()). nullopt where the difference is gone once values inside the
// function are outputs. kCancelled when `cancel` becomes true.
Result<std::optional<FirstDifference>> find_first_difference(
    const Pair& pair, const std::string& package, const std::string& function,
    const InputTensors& inputs, double tolerance, const SearchOptions& options);

}  // namespace anemone::selftest
