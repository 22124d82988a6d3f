// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/reference/common/elements.h"

namespace anemone::kernels::reference {

// output[i] = f(input[i], scale, zero point) with the scale and zero point of the channel of i.
template <typename In, typename Out, typename F>
Status map_scaled(const KernelCall& call, F&& f) {
  const TensorView input = call.input("input");
  const MutableTensorView output = call.output();
  if (input.size() == 0) return ok_status();
  const std::vector<float> scales = to_floats(call.input("scale"));
  const std::vector<float> zero_points = call.has("zero_point")
                                             ? to_floats(call.input("zero_point"))
                                             : std::vector<float>(scales.size(), 0.0f);
  std::int64_t run = input.size();  // neighbours of one channel
  if (!call.input("scale").shape.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                             normalize_axis(call.integer("axis", 0), input.shape.size()));
    run = strides_of(input.shape)[static_cast<std::size_t>(axis)];
  }
  const In* source = input.as<In>().data();
  Out* target = output.as<Out>().data();
  const auto channels = static_cast<std::int64_t>(scales.size());
  call.threads().parallel_for(
      input.size() / run, std::max<std::int64_t>(1, 16384 / run),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          const auto channel = static_cast<std::size_t>(r % channels);
          for (std::int64_t i = r * run; i < (r + 1) * run; ++i)
            target[i] = store_element<Out>(f(static_cast<float>(load_element(source[i])),
                                             scales[channel], zero_points[channel]));
        }
      });
  return ok_status();
}

}  // namespace anemone::kernels::reference
