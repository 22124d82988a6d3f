// SPDX-License-Identifier: Apache-2.0
#include "engine/model/mask_pool.h"

#include <gtest/gtest.h>
#include <memory>

namespace anemone::engine {
namespace {

using artifact::PortRole;

constexpr std::int64_t kMaskContext = 23;

HostInput mask_input(PortRole role, std::int64_t window = 0, DType dtype = DType::kFp16) {
  return {.role = role, .window = window, .dtype = dtype};
}

void expect_attention(const TensorView& view, std::int64_t tokens, std::int64_t window,
                      std::int64_t position, std::int64_t count) {
  const auto values = to_floats(view);
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::int64_t at = position + (t < count ? t : count - 1);
    for (std::int64_t s = 0; s < kMaskContext; ++s) {
      const bool is_visible = s <= at && (window == 0 || s > at - window);
      ASSERT_EQ(values[static_cast<std::size_t>(t * kMaskContext + s)],
                is_visible ? 0 : to_float(to_half(artifact::kMaskedScore)))
          << "window " << window << " row " << t << " attends to " << s << " from " << position
          << " count " << count;
    }
  }
}

// The columns of the past, whose last ones before the step are shown where it is shorter than the
// text, those from `position` on are hidden, and then those of the step.
void expect_past_and_step(const TensorView& view, std::int64_t past, std::int64_t tokens,
                          std::int64_t window, std::int64_t position, std::int64_t count) {
  const std::int64_t first = std::max<std::int64_t>(position - past, 0);
  const auto values = to_floats(view);
  ASSERT_EQ(view.shape, Shape({1, 1, tokens, past + tokens}));
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::int64_t at = position + (t < count ? t : count - 1);
    for (std::int64_t column = 0; column < past + tokens; ++column) {
      const bool is_past = column < past;
      const std::int64_t s = is_past ? first + column : position + column - past;
      const bool is_visible =
          (!is_past || s < position) && s <= at && (window == 0 || s > at - window);
      ASSERT_EQ(values[static_cast<std::size_t>(t * (past + tokens) + column)],
                is_visible ? 0 : to_float(to_half(artifact::kMaskedScore)))
          << "window " << window << " row " << t << " column " << column << " from " << position
          << " count " << count;
    }
  }
}

void expect_write(const TensorView& view, std::int64_t tokens, std::int64_t position,
                  std::int64_t count) {
  const auto values = to_floats(view);
  for (std::int64_t s = 0; s < kMaskContext; ++s)
    for (std::int64_t t = 0; t < tokens; ++t)
      ASSERT_EQ(values[static_cast<std::size_t>(s * tokens + t)],
                t < count && s == position + t ? 1.0F : 0.0F);
}

// Every jump from one step to another, also of other sequences: the tensors are updated in place,
// so what a step leaves behind must not show in the next.
TEST(MaskPool, MasksFollowTheirDefinitionAfterAnyJump) {
  for (const DType dtype : {DType::kFp32, DType::kFp16}) {
    for (const std::int64_t tokens : {1, 4}) {
      MaskPool pool;
      std::uint32_t random = 1;
      std::int64_t position = 0;
      for (int step = 0; step < 300; ++step) {
        random = random * 1664525 + 1013904223;
        const auto count =
            static_cast<std::int64_t>((random >> 8) % static_cast<unsigned>(tokens)) + 1;
        // Mostly on from where the last step ended, sometimes elsewhere.
        if (random >> 30 == 0 || position + count > kMaskContext)
          position = static_cast<std::int64_t>((random >> 16) %
                                               static_cast<unsigned>(kMaskContext - count + 1));
        for (const std::int64_t window : {0, 1, 4}) {
          auto taken =
              pool.take(mask_input(PortRole::kAttentionMask, window, dtype), tokens, kMaskContext);
          taken->set(position, count);
          expect_attention(taken->view(), tokens, window, position, count);
          pool.give(std::move(taken));
          HostInput of_both = mask_input(PortRole::kAttentionMaskPastAndStep, window, dtype);
          for (const auto past : {artifact::PastForm::kWhole, artifact::PastForm::kWindow}) {
            of_both.past = past;
            auto split = pool.take(of_both, tokens, kMaskContext);
            split->set(position, count);
            expect_past_and_step(
                split->view(),
                past == artifact::PastForm::kWindow && window != 0 ? window : kMaskContext, tokens,
                window, position, count);
            pool.give(std::move(split));
          }
        }
        auto taken =
            pool.take(mask_input(PortRole::kCacheWriteMask, 0, dtype), tokens, kMaskContext);
        taken->set(position, count);
        expect_write(taken->view(), tokens, position, count);
        pool.give(std::move(taken));
        position += count;
      }
    }
  }
}

TEST(MaskPool, GivesOutEachMaskOnce) {
  MaskPool pool;
  const HostInput input = mask_input(PortRole::kAttentionMask);
  auto first = pool.take(input, 2, kMaskContext);
  auto second = pool.take(input, 2, kMaskContext);
  const DenseMask* const places[] = {first.get(), second.get()};
  EXPECT_NE(places[0], places[1]);
  pool.give(std::move(first));
  pool.give(std::move(second));
  first = pool.take(input, 2, kMaskContext);
  second = pool.take(input, 2, kMaskContext);
  EXPECT_NE(first.get(), second.get());
  EXPECT_TRUE(first.get() == places[0] || first.get() == places[1]);
  EXPECT_TRUE(second.get() == places[0] || second.get() == places[1]);
}

TEST(MaskPool, KeepsNoMasksOfAnotherNumberOfTokens) {
  MaskPool pool;
  const HostInput input = mask_input(PortRole::kAttentionMask);
  auto wide = pool.take(input, 3, kMaskContext);
  wide->set(5, 3);
  pool.give(std::move(wide));
  pool.give(pool.take(input, 2, kMaskContext));
  // A new one shows nothing yet.
  wide = pool.take(input, 3, kMaskContext);
  for (const float value : to_floats(wide->view()))
    ASSERT_EQ(value, to_float(to_half(artifact::kMaskedScore)));
}

}  // namespace
}  // namespace anemone::engine
