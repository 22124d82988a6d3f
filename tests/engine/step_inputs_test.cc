// SPDX-License-Identifier: Apache-2.0
#include "engine/model/step_inputs.h"

#include <cmath>
#include <gtest/gtest.h>

namespace anemone::engine {
namespace {

using artifact::PortRole;

constexpr std::int64_t kContext = 23;

std::vector<HostInput> all_inputs(const artifact::Rope& rope, DType dtype) {
  return {{PortRole::kAttentionMask, nullptr, 0, dtype},
          {PortRole::kRopeCos, &rope, 0, dtype},
          {PortRole::kRopeSin, &rope, 0, dtype}};
}

TEST(StepInputs, RopeIsTheAngleInFp32TimesTheScale) {
  const artifact::Rope rope{"r", {1.0F, 0.1F, 1e-4F}, 1.25F};
  StepInputs inputs(all_inputs(rope, DType::kFp32), 4, kContext);
  inputs.set(17, 4, 21);
  const auto cos = to_floats(inputs.view(1));
  const auto sin = to_floats(inputs.view(2));
  ASSERT_EQ(cos.size(), 12U);
  for (std::size_t t = 0; t < 4; ++t) {
    for (std::size_t i = 0; i < 3; ++i) {
      const float angle = (17.0F + static_cast<float>(t)) * rope.inv_freq[i];
      EXPECT_FLOAT_EQ(cos[t * 3 + i], std::cos(angle) * 1.25F);
      EXPECT_FLOAT_EQ(sin[t * 3 + i], std::sin(angle) * 1.25F);
    }
  }
}

TEST(StepInputs, RopeGoesByTheLengthOfTheWholeText) {
  artifact::Rope rope{"r", {1.0F, 0.1F}, 1.0F};
  rope.short_length = 20;
  rope.long_inv_freq = {0.5F, 0.02F};
  StepInputs inputs(all_inputs(rope, DType::kFp32), 1, kContext);
  for (const std::int64_t length : {6, 20, 21, 20}) {
    inputs.set(5, 1, length);
    const auto& frequencies = length > 20 ? rope.long_inv_freq : rope.inv_freq;
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_FLOAT_EQ(to_floats(inputs.view(1))[i], std::cos(5.0F * frequencies[i])) << length;
  }
}

TEST(StepInputs, TheUpdateMaskPicksTheLastColumnsOfWhatIsThere) {
  HostInput input;
  input.role = PortRole::kUpdateMask;
  input.tail = 2;
  input.dtype = DType::kFp32;
  StepInputs inputs({input}, 4, kContext);
  for (const std::int64_t count : {4, 1, 1, 3, 2}) {
    inputs.set(5, count, 5 + count);
    const auto mask = to_floats(inputs.view(0));
    ASSERT_EQ(mask.size(), 12U);
    for (std::int64_t row = 0; row < 6; ++row)
      for (std::int64_t j = 0; j < 2; ++j)
        EXPECT_EQ(mask[static_cast<std::size_t>(row * 2 + j)], row == count + j ? 1.0F : 0.0F);
  }
}

TEST(StepInputs, ColumnsAfterTheLastTokenRepeatIt) {
  const artifact::Rope rope{"r", {1.0F, 0.1F}, 1.0F};
  StepInputs inputs(all_inputs(rope, DType::kFp16), 4, kContext);
  inputs.set(kContext - 2, 2, kContext);
  const auto cos = to_floats(inputs.view(1));
  for (std::size_t t = 2; t < 4; ++t)
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(cos[t * 2 + i], cos[1 * 2 + i]);
}

TEST(StepInputs, MasksHaveNoTensors) {
  const artifact::Rope rope{"r", {1.0F}, 1.0F};
  StepInputs inputs(all_inputs(rope, DType::kFp16), 4, kContext);
  inputs.set(3, 2, 5);
  EXPECT_EQ(inputs.view(0).data, nullptr);
  EXPECT_EQ(inputs.position(), 3);
  EXPECT_EQ(inputs.count(), 2);
}

TEST(StepInputs, RopeInFp16IsRoundedOnce) {
  const artifact::Rope rope{"r", {0.3F}, 1.0F};
  StepInputs halves(all_inputs(rope, DType::kFp16), 1, kContext);
  halves.set(5, 1, 6);
  EXPECT_EQ(halves.view(1).as<Half>()[0],
            to_half(static_cast<float>(std::cos(static_cast<double>(5.0F * 0.3F)))));
}

}  // namespace
}  // namespace anemone::engine
