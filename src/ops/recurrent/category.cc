// SPDX-License-Identifier: Apache-2.0
#include "ops/categories.h"
#include "ops/recurrent/recurrent.h"

namespace anemone::ops {

void add_recurrent(std::vector<ir::OpSchema>& schemas) {
  for (auto make : {gru_schema, lstm_schema, rnn_schema}) schemas.push_back(make());
}

}  // namespace anemone::ops
