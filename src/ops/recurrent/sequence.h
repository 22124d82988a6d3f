// SPDX-License-Identifier: Apache-2.0
// The pieces that the rules of lstm, gru and rnn share. Errors carry `<op>_c1` (x), `<op>_c2`
// (weights), `<op>_c3` (initial states), `<op>_c4` (biases), `<op>_c5` (direction), `<op>_c6`
// (activations) and `<op>_c7` (dtypes before iOS17).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op_schema.h"

namespace anemone::ops {

struct Sequence {
  std::int64_t steps, batch, inputs;  // x [steps, batch, inputs]
  std::int64_t hidden;                // weight_hh [gates * hidden, hidden]
};

// Checks x, weight_ih [gates * hidden, inputs] and weight_hh, the named activations, and that all
// is fp32 before iOS17.
Result<Sequence> read_sequence(const ir::InferContext& context, const std::string& op,
                               std::int64_t gates,
                               std::initializer_list<std::string_view> activations);
// The named parameter, if it is there, is [length].
Status check_gates(const ir::InferContext& context, const std::string& op,
                   std::string_view parameter, std::int64_t length);
// The named state is [batch, width].
Status check_initial(const ir::InferContext& context, const std::string& op,
                     std::string_view parameter, const Sequence& sequence, std::int64_t width);
// All steps or the last one, then `states` times the last state.
Status add_sequence(const ir::InferContext& context, const std::string& op,
                    const Sequence& sequence, std::int64_t width, std::size_t states,
                    std::vector<ir::Type>& outputs);

}  // namespace anemone::ops
