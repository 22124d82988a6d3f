// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/recurrent/sequence.h"

#include <cmath>

#include "kernels/reference/common/elements.h"
#include "kernels/reference/linear/dot.h"

namespace anemone::kernels::reference {

Activation find_activation(std::string_view name) {
  if (name == "sigmoid") return [](float x) { return 1.0f / (1.0f + std::exp(-x)); };
  if (name == "hard_sigmoid" || name == "sigmoid_hard")
    return [](float x) { return std::clamp(0.2f * x + 0.5f, 0.0f, 1.0f); };
  if (name == "relu") return [](float x) { return x < 0.0f ? 0.0f : x; };
  if (name == "linear") return [](float x) { return x; };
  return [](float x) { return std::tanh(x); };
}

Cell::Cell(const KernelCall& call, const std::string& suffix)
    : weight_ih(to_floats(call.input("weight_ih" + suffix))),
      weight_hh(to_floats(call.input("weight_hh" + suffix))),
      bias(call.has("bias" + suffix) ? to_floats(call.input("bias" + suffix))
                                     : std::vector<float>()),
      inputs(call.input("weight_ih" + suffix).shape[1]),
      hidden(call.input("weight_hh" + suffix).shape[1]) {}

float Cell::input_part(std::int64_t gate, std::int64_t unit, const float* x) const {
  return dot(weight_ih.data() + (gate * hidden + unit) * inputs, x, inputs);
}

float Cell::hidden_part(std::int64_t gate, std::int64_t unit, const float* h) const {
  return dot(weight_hh.data() + (gate * hidden + unit) * hidden, h, hidden);
}

float Cell::bias_of(std::int64_t gate, std::int64_t unit) const {
  return bias.empty() ? 0.0f : bias[static_cast<std::size_t>(gate * hidden + unit)];
}

Steps::Steps(const KernelCall& call, std::int64_t hidden, std::int64_t directions)
    : call_(call),
      x_(to_floats(call.input("x"))),
      steps_(call.input("x").shape[0]),
      batch_(call.input("x").shape[1]),
      inputs_(call.input("x").shape[2]),
      hidden_(hidden),
      directions_(directions),
      is_all_(call.boolean("output_sequence", false)) {}

std::vector<float> Steps::initial(std::string_view parameter, std::int64_t d) const {
  const std::vector<float> all = to_floats(call_.input(parameter));
  std::vector<float> state(static_cast<std::size_t>(batch_ * hidden_));
  for (std::int64_t b = 0; b < batch_; ++b)
    std::copy_n(all.data() + (b * directions_ + d) * hidden_, hidden_, state.data() + b * hidden_);
  return state;
}

void Steps::store(const std::vector<float>& state, std::size_t output, std::int64_t step,
                  std::int64_t d) const {
  const MutableTensorView y = call_.output(output);
  const auto write = [&](auto target) {
    using T = typename decltype(target)::value_type;
    for (std::int64_t b = 0; b < batch_; ++b)
      for (std::int64_t j = 0; j < hidden_; ++j)
        target[static_cast<std::size_t>(((step * batch_ + b) * directions_ + d) * hidden_ + j)] =
            store_element<T>(state[static_cast<std::size_t>(b * hidden_ + j)]);
  };
  if (y.dtype == DType::kFp16) return write(y.as<Half>());
  write(y.as<float>());
}

}  // namespace anemone::kernels::reference
