// SPDX-License-Identifier: Apache-2.0
// Steps over sequences, for lstm, gru and rnn.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

using Activation = float (*)(float);
// tanh, sigmoid, relu, linear; hard_sigmoid is min(max(0.2 x + 0.5, 0), 1); scaled_tanh has both
// scales 1, as in Core ML.
Activation find_activation(std::string_view name);

// The weights of one direction: parameters with the names weight_ih, weight_hh and bias, each
// followed by `suffix`, as fp32.
struct Cell {
  Cell(const KernelCall& call, const std::string& suffix);

  // Row `gate * hidden + unit` of weight_ih times x, and of weight_hh times h.
  float input_part(std::int64_t gate, std::int64_t unit, const float* x) const;
  float hidden_part(std::int64_t gate, std::int64_t unit, const float* h) const;
  float bias_of(std::int64_t gate, std::int64_t unit) const;
  // All three added up.
  float gate(std::int64_t gate, std::int64_t unit, const float* x, const float* h) const {
    return input_part(gate, unit, x) + hidden_part(gate, unit, h) + bias_of(gate, unit);
  }

  std::vector<float> weight_ih, weight_hh, bias;
  std::int64_t inputs, hidden;
};

// x [steps, batch, inputs] as fp32 and where the steps of one direction go: `direction` d of
// `directions` has the units from d * hidden on of states and results.
class Steps {
 public:
  Steps(const KernelCall& call, std::int64_t hidden, std::int64_t directions);

  // The units of direction `d` in a state [batch, directions * hidden].
  std::vector<float> initial(std::string_view parameter, std::int64_t d) const;
  // Calls step(x of the step, [batch, inputs]; h, [batch, hidden], which it changes) for every
  // step, backwards if told so, and writes h to output 0: after every step, or after the last one.
  // With `keeps_time` the result of a step lies where its x does, else in the order of computation.
  template <typename Step>
  void run(std::vector<float>& h, std::int64_t d, bool is_backward, bool keeps_time,
           const Step& step) const {
    for (std::int64_t k = 0; k < steps_; ++k) {
      const std::int64_t t = is_backward ? steps_ - 1 - k : k;
      step(x_.data() + t * batch_ * inputs_, h);
      if (is_all_) store(h, 0, keeps_time ? t : k, d);
    }
    if (!is_all_) store(h, 0, 0, d);
  }
  // Writes a state [batch, hidden] to a result whose last axes are [batch, directions * hidden].
  void store(const std::vector<float>& state, std::size_t output, std::int64_t step,
             std::int64_t d) const;
  // Calls f(row of the batch, unit) for all of them, on all threads.
  template <typename F>
  void for_units(F&& f) const {
    const std::int64_t grain = std::max<std::int64_t>(1, 16384 / (1 + inputs_ + hidden_));
    call_.threads().parallel_for(batch_ * hidden_, grain,
                                 [&](std::int64_t begin, std::int64_t end) {
                                   for (std::int64_t i = begin; i < end; ++i)
                                     f(i / hidden_, i % hidden_);
                                 });
  }

 private:
  const KernelCall& call_;
  std::vector<float> x_;
  std::int64_t steps_, batch_, inputs_, hidden_, directions_;
  bool is_all_;
};

}  // namespace anemone::kernels::reference
