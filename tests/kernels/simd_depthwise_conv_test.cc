// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions on every instruction set of this machine, against the reference product,
// to the bit.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "kernels/reference/linear/dot.h"
#include "kernels/simd/kernels.h"
#include "tests/kernels/random_values.h"

namespace anemone::kernels::simd {
namespace {

using testing::RandomValues;

class SimdDepthwiseConv : public ::testing::TestWithParam<Isa> {
 protected:
  const Kernels& kernels_ = kernels_of(GetParam());
};

TEST_P(SimdDepthwiseConv, GivesTheBitsOfTheReference) {
  RandomValues random(1);
  constexpr std::int64_t kChannels = 7;
  for (std::int64_t taps = 1; taps <= kMaxTaps; ++taps)
    for (const std::int64_t outputs : {1, 2, 15, 16, 17, 40}) {
      SCOPED_TRACE(std::to_string(taps) + " taps, " + std::to_string(outputs) + " outputs");
      DepthwiseConv conv;
      conv.positions = outputs + taps - 1;
      conv.taps = taps;
      std::vector<Half> x = random.halves(kChannels * conv.positions, 4);
      // Products of -0, too.
      for (std::int64_t i = 0; i < conv.positions; ++i)
        x[static_cast<std::size_t>(i)] = to_half(0.0f);
      const std::vector<Half> halves = random.halves(kChannels * taps);
      std::vector<float> weight;
      for (const Half h : halves) weight.push_back(to_float(h));
      weight[0] = -1;
      std::vector<float> bias = random.floats(kChannels);
      bias[0] = 0;
      conv.x = x.data();
      conv.weight = weight.data();
      conv.bias = bias.data();
      ASSERT_EQ(conv.outputs(), outputs);
      std::vector<Half> expected(static_cast<std::size_t>(kChannels * outputs));
      std::vector<float> row(static_cast<std::size_t>(taps));
      for (std::int64_t c = 0; c < kChannels; ++c)
        for (std::int64_t t = 0; t < outputs; ++t) {
          for (std::int64_t k = 0; k < taps; ++k)
            row[static_cast<std::size_t>(k)] =
                to_float(x[static_cast<std::size_t>(c * conv.positions + t + k)]);
          const float sum = reference::dot(row.data(), weight.data() + c * taps, taps);
          expected[static_cast<std::size_t>(c * outputs + t)] =
              to_half(sum + bias[static_cast<std::size_t>(c)]);
        }
      for (const std::int64_t step : {1, 3, 7}) {
        std::vector<Half> out(expected.size() + 1, Half{0x1234});
        conv.out = out.data();
        std::vector<float> scratch(static_cast<std::size_t>(depthwise_conv_scratch(conv, step)));
        for (std::int64_t begin = 0; begin < kChannels; begin += step)
          kernels_.depthwise_conv(conv, begin, std::min(begin + step, kChannels), scratch.data());
        for (std::size_t i = 0; i < expected.size(); ++i)
          ASSERT_EQ(out[i].bits, expected[i].bits) << i;
        ASSERT_EQ(out.back().bits, 0x1234);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(, SimdDepthwiseConv, ::testing::ValuesIn(supported_isas()),
                         [](const auto& info) { return std::string(isa_name(info.param)); });

}  // namespace
}  // namespace anemone::kernels::simd
