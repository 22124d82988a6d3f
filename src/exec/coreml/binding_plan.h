// SPDX-License-Identifier: Apache-2.0
// Which memory each feature of a function lies in during one run: what of the caller's memory Core
// ML may use as it is, and what has to be copied, because Core ML asks for padded rows or because
// the caller's memory must not change yet.
//
//   input, a tensor           the caller's memory; with padded rows, staging
//   input, past of a cache    the first S positions of the caller's cache, or, of a layer with a
//                             sliding window, the last S before the step, by strides; with padded
//                             rows, staging
//   input, a whole cache      the caller's cache; with padded rows, staging
//   output, a tensor          the caller's tensor of an earlier run, or a new one, as a backing;
//                             with padded rows, staging
//   output, rows of a cache   staging, from which the rows are appended after the run
//   output, a whole cache     a second tensor, exchanged with the caller's after the run
//   states                    Core ML's memory, one set per sequence (coreml_state.h)
//
// An output whose shape is not known before the run has no backing and is copied.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/cache_binding.h"
#include "exec/coreml/runtime.h"
#include "exec/executor.h"

namespace anemone::exec::coreml {

// The signature that a function has for its callers. kUnsupported for a feature of a type that no
// tensor here has.
Result<Signature> signature_of(const ModelInfo& info);

// The memory that Core ML wants of one feature.
struct BufferNeed {
  std::vector<std::int64_t> strides;  // in elements
  std::uint64_t bytes = 0;
};
BufferNeed need_of(const FeatureInfo& feature, const Shape& shape);

enum class Owner {
  kCaller,   // tensors and caches of the run
  kStaging,  // copied before or after the run
  kNobody,   // an output without a backing
};

struct PlannedInput {
  const FeatureInfo* feature = nullptr;
  Owner owner = Owner::kCaller;
  // The elements as the caller has them. kStaging: they are copied to an array of `need`.
  Array source;
  BufferNeed need;
};

struct PlannedOutput {
  enum class Use { kTensor, kAppend, kReplace };
  const FeatureInfo* feature = nullptr;
  Use use = Use::kTensor;
  Owner owner = Owner::kNobody;           // kReplace: kCaller stands for the second tensor
  const CacheBinding* binding = nullptr;  // kAppend, kReplace
  Shape shape;                            // empty with kNobody
  BufferNeed need;
};

struct BindingPlan {
  std::vector<PlannedInput> inputs;    // those that the run has, in the order of the function
  std::vector<PlannedOutput> outputs;  // all of them, in the order of the function
};

// The plan of a run. `info` and the item outlive it. The item passed check_item().
// kInvalidArgument where it has step facts in the place of masks, which Core ML does not take.
Result<BindingPlan> plan_bindings(const ModelInfo& info, const BatchItem& item);

}  // namespace anemone::exec::coreml
