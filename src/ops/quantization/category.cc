// SPDX-License-Identifier: Apache-2.0
#include "ops/categories.h"
#include "ops/quantization/quantization.h"

namespace anemone::ops {

void add_quantization(std::vector<ir::OpSchema>& schemas) {
  for (auto make : {dequantize_schema, quantize_schema}) schemas.push_back(make());
}

}  // namespace anemone::ops
