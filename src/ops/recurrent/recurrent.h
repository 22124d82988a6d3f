// SPDX-License-Identifier: Apache-2.0
// Schemas of the category recurrent: layers over sequences [steps, batch, inputs].
#pragma once

#include "ir/op_schema.h"

namespace anemone::ops {

ir::OpSchema gru_schema();
ir::OpSchema lstm_schema();
ir::OpSchema rnn_schema();

}  // namespace anemone::ops
