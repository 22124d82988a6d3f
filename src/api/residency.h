// SPDX-License-Identifier: Apache-2.0
// Where Core ML plans to run a loaded model, beside what the laws of the chip predict. A plan is a
// forecast of Core ML, not a record of a run.
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ane/check.h"
#include "engine/model/model.h"
#include "exec/coreml/plan_file.h"
#include "exec/coreml/residency.h"
#include "exec/executor.h"
#include "exec/placement.h"

namespace anemone::api {

struct FunctionResidency {
  std::string package;  // in its artifact
  std::string function;
  exec::coreml::Residency residency;
};

struct ModelResidency {
  std::vector<FunctionResidency> functions;

  // The verdict on all functions together: resident only if each of them is, unknown if Core ML
  // says of no operation where it runs.
  exec::coreml::Verdict verdict() const;
  std::size_t operations() const;
  std::size_t on_chip() const;
  std::size_t products() const;
  std::size_t products_on_chip() const;
  exec::Placement totals() const;
  // "resident: 980 of 980 operations and 50 of 50 products on the Neural Engine, in 4 functions".
  std::string summary() const;

  // kCheckFailed where a product (ops::is_product) is not planned on the chip: names the first of
  // them with the law that explains it, and says how to see all. The same where Core ML tells of no
  // operation of any function where it runs, and there is no product.
  Status check_products(const std::string& subject) const;
};

// What `ane` predicted of a function, as exec/coreml joins it with a plan. The reason is the id of
// the law.
std::vector<exec::coreml::PredictedOperation> predictions_of(const ane::PlacedFunction& function);

// Asks Core ML for the plan of every function of a model that the Core ML executor loaded, and
// predicts each from its package. Of a package of experts the first function stands for all, which
// have one graph. The errors of compute_plan(), as kInvalidArgument for a model of another
// executor, and of reading a package.
Result<ModelResidency> residency_of(const engine::Model& model);

// Asks Core ML for the plan of every function of each package. `names` are those of the packages in
// the result. What Core ML says against one function is its `error`, and what it says against a
// package is that of each of its functions. kUnsupported for another executor and for a compiled
// model, which does not say what it was compiled of; kCancelled; the errors of reading a package
// that does not load.
Result<exec::coreml::PlanFile> plan_packages(exec::Executor& executor,
                                             std::span<const std::string> paths,
                                             std::span<const std::string> names);

}  // namespace anemone::api
