// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/recurrent/recurrent.h"
#include "kernels/reference/recurrent/sequence.h"

namespace anemone::kernels::reference {

// h = activation(W x + R h + b).
Status rnn_kernel(const KernelCall& call) {
  const Cell cell(call, "");
  const Steps steps(call, cell.hidden, 1);
  const Activation activate = find_activation(call.text("activation", "tanh"));
  std::vector<float> h = steps.initial("initial_h", 0);
  std::vector<float> next(h.size());
  steps.run(h, 0, call.text("direction", "forward") == "reverse", false,
            [&](const float* x, std::vector<float>& state) {
              steps.for_units([&](std::int64_t row, std::int64_t unit) {
                next[static_cast<std::size_t>(row * cell.hidden + unit)] = activate(
                    cell.gate(0, unit, x + row * cell.inputs, state.data() + row * cell.hidden));
              });
              state.swap(next);
            });
  steps.store(h, 1, 0, 0);
  return ok_status();
}

}  // namespace anemone::kernels::reference
