// SPDX-License-Identifier: Apache-2.0
// Whether a function runs on the Neural Engine: Core ML's own plan beside what the laws predicted
// (ane/placement.h). The predictions come as plain data, since exec may not include ane.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/coreml/runtime.h"

namespace anemone::exec::coreml {

// One operation of a function as it was predicted.
struct PredictedOperation {
  std::string name;  // of its first output
  std::string type;  // "conv"
  Device device = Device::kNeuralEngine;
  std::string reason;  // why it is not on the chip: the law; empty on the chip
};

// One operation of both lists.
struct PlacedOperation {
  std::string name;
  std::string type;                     // without the opset
  Device planned = Device::kUnknown;    // by Core ML
  Device predicted = Device::kUnknown;  // kUnknown: nobody predicted it
  bool is_supported = false;            // Core ML lists the chip among those that could run it
  double cost = 0;                      // of the function, by Core ML
  std::string reason;                   // of the prediction: the law
  // Both lists know where it runs, and disagree.
  bool is_contradicted() const {
    return planned != Device::kUnknown && predicted != Device::kUnknown && planned != predicted;
  }
};

enum class Verdict {
  kResident,   // every operation with a known device is on the chip
  kPartly,     // some are
  kElsewhere,  // none is
  kUnknown,    // Core ML tells of no operation where it runs
};
std::string_view verdict_name(Verdict verdict);  // "resident", "partly", "elsewhere", "unknown"

// A constant, or what restores one when the model is compiled: it runs nowhere. `type` may have an
// opset before it.
bool is_constant(std::string_view type);

struct Residency {
  Verdict verdict = Verdict::kUnknown;
  // Operations that Core ML knows a device for, in the order of the plan: constants have none.
  std::vector<PlacedOperation> operations;
  std::size_t on_chip = 0;
  std::size_t contradicted = 0;
  std::size_t unpredicted = 0;  // of `operations`: those that nobody predicted
  std::size_t unplanned = 0;    // predictions of operations that the plan does not have
  std::size_t products = 0;     // those of ops::is_product(), whether their device is known or not
  // The products that are not planned on the chip; `planned` may be kUnknown.
  std::vector<PlacedOperation> products_elsewhere;
  // How often a run goes from one device to another between two operations in a row.
  std::size_t transitions = 0;
  // Share of the cost that is on the chip, from 0 to 1; 0 where Core ML tells no costs.
  double cost_on_chip = 0;

  // "resident: 120 of 120 operations on the Neural Engine, 0 transitions".
  std::string summary() const;
};

// Operations are matched by the name of their first output, and by type where the compiler renamed
// it: the next prediction of that type that is left. A plan is a forecast of Core ML, not a record
// of a run.
Residency join(std::span<const PlannedOperation> plan,
               std::span<const PredictedOperation> predictions);

}  // namespace anemone::exec::coreml
