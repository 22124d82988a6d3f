// SPDX-License-Identifier: Apache-2.0
#include "ops/categories.h"
#include "ops/quantization/quantization.h"

namespace anemone::ops {

void add_quantization(std::vector<ir::OpSchema>& schemas) {
  schemas.push_back(dequantize_schema());
  schemas.push_back(quantize_schema());
}

}  // namespace anemone::ops
