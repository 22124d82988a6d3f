// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/recurrent/recurrent.h"
#include "kernels/reference/recurrent/sequence.h"

namespace anemone::kernels::reference {
namespace {

// The order of the gates in weights and biases.
enum GruGate : std::int64_t { kResetGate, kNewGate, kUpdateGate };

// One layer and what it needs between two passes over its units.
struct GruLayer {
  const Cell& cell;
  const Steps& steps;
  std::vector<float> input_bias;
  Activation recurrent, activate;
  bool is_reset_after;
  std::vector<float> reset, next;

  float input_bias_of(std::int64_t gate, std::int64_t unit) const {
    return input_bias.empty() ? 0.0f
                              : input_bias[static_cast<std::size_t>(gate * cell.hidden + unit)];
  }

  // r = f(W_r x + R_r h + b_r), z likewise; o = g(W_o x + R_o (r h) + b_o), or with reset_after
  // o = g(W_o x + r (R_o h + b_o)), input biases beside W x; h = (1 - z) o + z h.
  void operator()(const float* x, std::vector<float>& h) {
    const std::int64_t hidden = cell.hidden;
    steps.for_units([&](std::int64_t row, std::int64_t unit) {
      const auto i = static_cast<std::size_t>(row * hidden + unit);
      const float r =
          recurrent(cell.gate(kResetGate, unit, x + row * cell.inputs, h.data() + row * hidden) +
                    input_bias_of(kResetGate, unit));
      reset[i] = is_reset_after ? r : r * h[i];
    });
    steps.for_units([&](std::int64_t row, std::int64_t unit) {
      const auto i = static_cast<std::size_t>(row * hidden + unit);
      const float* in = x + row * cell.inputs;
      const float* old = h.data() + row * hidden;
      const float z =
          recurrent(cell.gate(kUpdateGate, unit, in, old) + input_bias_of(kUpdateGate, unit));
      const float from_input = cell.input_part(kNewGate, unit, in) + input_bias_of(kNewGate, unit);
      const float bias = cell.bias_of(kNewGate, unit);
      const float from_hidden =
          is_reset_after ? reset[i] * (cell.hidden_part(kNewGate, unit, old) + bias)
                         : cell.hidden_part(kNewGate, unit, reset.data() + row * hidden) + bias;
      next[i] = (1.0f - z) * activate(from_input + from_hidden) + z * h[i];
    });
    h.swap(next);
  }
};

}  // namespace

Status gru_kernel(const KernelCall& call) {
  const Cell cell(call, "");
  const Steps steps(call, cell.hidden, 1);
  std::vector<float> h = steps.initial("initial_h", 0);
  GruLayer layer{
      cell,
      steps,
      call.has("input_bias") ? to_floats(call.input("input_bias")) : std::vector<float>(),
      find_activation(call.text("recurrent_activation", "sigmoid")),
      find_activation(call.text("activation", "tanh")),
      call.boolean("reset_after", false),
      std::vector<float>(h.size()),
      std::vector<float>(h.size())};
  steps.run(h, 0, call.text("direction", "forward") == "reverse", false,
            [&](const float* x, std::vector<float>& state) { layer(x, state); });
  steps.store(h, 1, 0, 0);
  return ok_status();
}

}  // namespace anemone::kernels::reference
