// SPDX-License-Identifier: Apache-2.0
// A row of an attention has the same bits alone and among others, on every instruction set of this
// machine.
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

#include "kernels/simd/kernels.h"
#include "tests/kernels/random_values.h"

namespace anemone::kernels::simd {
namespace {

using testing::RandomValues;

class SimdAttention : public ::testing::TestWithParam<Isa> {
 protected:
  const Kernels& kernels_ = kernels_of(GetParam());

  // Row r of `q` alone, over positions [begin, end).
  std::vector<float> alone(const AttentionHead& head, const std::vector<float>& q, std::int64_t r,
                           std::int64_t begin, std::int64_t end) const {
    AttentionHead one = head;
    if (head.sinks != nullptr) one.sinks += r;
    std::vector<float> out(static_cast<std::size_t>(head.dim));
    std::vector<float> scratch(static_cast<std::size_t>(attend_scratch(1, head.dim)));
    kernels_.attend(one, q.data() + r * head.dim, 1, begin, end, out.data(), scratch.data());
    return out;
  }
};

constexpr std::int64_t kPositions = 300;

TEST_P(SimdAttention, RowsGiveTheSameBitsInAnyCompany) {
  RandomValues random(7);
  const auto sinks = random.floats(kAttendRows);
  for (const std::int64_t dim : {8, 20, 64, 80})
    for (const bool has_sinks : {false, true})
      for (const std::int64_t window : {1, 40, 1000}) {
        auto keys = random.halves(kPositions * dim, 2.0f);
        auto values = random.halves(kPositions * dim);
        // What no row attends to, such as what an earlier text left behind, does not matter.
        for (const std::int64_t position : {std::int64_t{0}, kPositions - 1})
          for (std::int64_t d = 0; d < dim; ++d) {
            keys[static_cast<std::size_t>(position * dim + d)] =
                to_half(std::numeric_limits<float>::quiet_NaN());
            values[static_cast<std::size_t>(position * dim + d)] =
                to_half(std::numeric_limits<float>::infinity());
          }
        const auto q = random.floats(kAttendRows * dim);
        const AttentionHead head{keys.data(), values.data(), dim,
                                 has_sinks ? sinks.data() : nullptr};
        AttentionRuns runs;
        std::vector<float> columns(q.size());
        for (std::int64_t r = 0; r < kAttendRows; ++r) {
          runs.end[r] = 2 + r * 297 / (kAttendRows - 1);
          runs.begin[r] = std::max<std::int64_t>(1, runs.end[r] - window);
          for (std::int64_t d = 0; d < dim; ++d)
            columns[static_cast<std::size_t>(d * kAttendRows + r)] =
                q[static_cast<std::size_t>(r * dim + d)];
        }
        std::vector<float> mixed(q.size());
        std::vector<float> scratch(static_cast<std::size_t>(attend_many_scratch(dim)));
        for (runs.rows = 16; runs.rows <= kAttendRows; runs.rows += 16) {
          std::ranges::fill(mixed, 0.0f);
          kernels_.attend_many(head, columns.data(), runs, mixed.data(), scratch.data());
          for (std::int64_t r = 0; r < runs.rows; ++r) {
            const auto one = alone(head, q, r, runs.begin[r], runs.end[r]);
            for (std::int64_t d = 0; d < dim; ++d) {
              const float many = mixed[static_cast<std::size_t>(d * kAttendRows + r)];
              ASSERT_EQ(std::memcmp(&many, &one[static_cast<std::size_t>(d)], sizeof(float)), 0)
                  << "row " << r << " of " << runs.rows << ", dimension " << d << " of " << dim
                  << ", window " << window;
            }
          }
        }
        // Rows that share their positions.
        for (const std::int64_t rows : {2, 3, 5, 8}) {
          std::vector<float> out(static_cast<std::size_t>(rows * dim));
          std::vector<float> work(static_cast<std::size_t>(attend_scratch(rows, dim)));
          kernels_.attend(head, q.data(), rows, 5, 207, out.data(), work.data());
          for (std::int64_t r = 0; r < rows; ++r) {
            const auto one = alone(head, q, r, 5, 207);
            ASSERT_EQ(std::memcmp(out.data() + r * dim, one.data(), one.size() * sizeof(float)), 0);
          }
        }
      }
}

INSTANTIATE_TEST_SUITE_P(, SimdAttention, ::testing::ValuesIn(supported_isas()),
                         [](const auto& info) { return std::string(isa_name(info.param)); });

}  // namespace
}  // namespace anemone::kernels::simd
