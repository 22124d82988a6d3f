// SPDX-License-Identifier: Apache-2.0
#include "ops/categories.h"
#include "ops/recurrent/recurrent.h"

namespace anemone::ops {

void add_recurrent(std::vector<ir::OpSchema>& schemas) {
  schemas.push_back(gru_schema());
  schemas.push_back(lstm_schema());
  schemas.push_back(rnn_schema());
}

}  // namespace anemone::ops
