// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/reference/recurrent/recurrent.h"
#include "kernels/reference/recurrent/sequence.h"

namespace anemone::kernels::reference {
namespace {

// The order of the gates in weights and biases; the first three in peepholes.
enum LstmGate : std::int64_t { kInputGate, kForgetGate, kOutputGate, kCellGate };

struct LstmActivations {
  Activation recurrent, cell, output;
};

// i = f(W_i x + R_i h + b_i + p_i c), likewise the forget gate; z = g(W_z x + R_z h + b_z);
// c = clip(forget c + i z); o = f(W_o x + R_o h + b_o + p_o c); h = o k(c).
void run_direction(const KernelCall& call, const Steps& steps, const Cell& cell,
                   const std::string& suffix, std::int64_t d, bool is_backward, bool keeps_time) {
  const LstmActivations f{find_activation(call.text("recurrent_activation", "sigmoid")),
                          find_activation(call.text("cell_activation", "tanh")),
                          find_activation(call.text("activation", "tanh"))};
  const std::vector<float> peephole = call.has("peephole" + suffix)
                                          ? to_floats(call.input("peephole" + suffix))
                                          : std::vector<float>();
  const bool is_clipped = call.has("clip");
  const auto limit = static_cast<float>(call.number("clip", 0));
  std::vector<float> h = steps.initial("initial_h", d);
  std::vector<float> c = steps.initial("initial_c", d);
  std::vector<float> next(h.size());
  const auto peek = [&](std::int64_t gate, std::int64_t unit, float state) {
    return peephole.empty() ? 0.0f
                            : state * peephole[static_cast<std::size_t>(gate * cell.hidden + unit)];
  };
  steps.run(h, d, is_backward, keeps_time, [&](const float* x, std::vector<float>& state) {
    steps.for_units([&](std::int64_t row, std::int64_t unit) {
      const auto i = static_cast<std::size_t>(row * cell.hidden + unit);
      const auto gate = [&](std::int64_t g, float own) {
        const float* old = state.data() + row * cell.hidden;
        return cell.gate(g, unit, x + row * cell.inputs, old) + own;
      };
      const float in = f.recurrent(gate(kInputGate, peek(kInputGate, unit, c[i])));
      const float keep = f.recurrent(gate(kForgetGate, peek(kForgetGate, unit, c[i])));
      c[i] = keep * c[i] + in * f.cell(gate(kCellGate, 0.0f));
      if (is_clipped) c[i] = std::max(std::min(c[i], limit), -limit);
      next[i] = f.recurrent(gate(kOutputGate, peek(kOutputGate, unit, c[i]))) * f.output(c[i]);
    });
    state.swap(next);
  });
  steps.store(h, 1, 0, d);
  steps.store(c, 2, 0, d);
}

}  // namespace

// A reverse layer gives its results in the order in which it computes them; of a bidirectional one,
// both directions of a step lie together.
Status lstm_kernel(const KernelCall& call) {
  const std::string_view direction = call.text("direction", "forward");
  const bool is_both = direction == "bidirectional";
  const Cell forward(call, "");
  const Steps steps(call, forward.hidden, is_both ? 2 : 1);
  run_direction(call, steps, forward, "", 0, direction == "reverse", false);
  if (is_both) run_direction(call, steps, Cell(call, "_back"), "_back", 1, true, true);
  return ok_status();
}

}  // namespace anemone::kernels::reference
