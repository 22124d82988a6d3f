// SPDX-License-Identifier: Apache-2.0
#include "compiler/weight_store.h"

#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "ops/registry.h"

namespace anemone::compiler {
namespace {

// One fp32 matrix "m" whose element is its index.
class CountingMatrix : public checkpoint::WeightSource {
 public:
  CountingMatrix(std::int64_t rows, std::int64_t columns)
      : values_(static_cast<std::size_t>(rows * columns)) {
    std::iota(values_.begin(), values_.end(), 0.0f);
    weight_.name = "m";
    weight_.shape = {rows, columns};
    weight_.bytes = std::as_bytes(std::span(values_));
  }
  const checkpoint::WeightRef* find(std::string_view name) const override {
    return name == weight_.name ? &weight_ : nullptr;
  }
  std::vector<const checkpoint::WeightRef*> all() const override { return {&weight_}; }
  const std::string& origin() const override { return weight_.name; }

 private:
  std::vector<float> values_;
  checkpoint::WeightRef weight_;
};

models::Projection head_rows(std::int64_t begin, std::int64_t end) {
  return {.name = "head",
          .role = models::WeightRole::kHead,
          .parts = {{"m", begin, end - begin}},
          .inputs = 4};
}

// The elements of an fp32 constant.
std::vector<float> floats_of(const ir::Value* value) {
  const ir::Literal* literal = ir::constant_of(value);
  if (literal == nullptr) return {};
  const auto data = literal->data()->load();
  if (!data.ok()) return {};
  std::vector<float> out(data->bytes.size() / sizeof(float));
  std::memcpy(out.data(), data->bytes.data(), data->bytes.size());
  return out;
}

class WeightStoreTest : public ::testing::Test {
 protected:
  std::shared_ptr<CountingMatrix> matrix_ = std::make_shared<CountingMatrix>(6, 4);
  WeightStore store_{matrix_, {.quant = {.scheme = quant::Scheme::kNone}}, DType::kFp32};
  ir::Program program_;
  ir::Builder builder_{program_, ops::op_registry(), "main", ir::Opset::kIOS18};
};

TEST_F(WeightStoreTest, GivesTwoRangesOfOneMatrixTheirOwnRowsThoughTheNamesAreAlike) {
  const auto first = floats_of(store_.projection(builder_, head_rows(0, 3)));
  const auto second = floats_of(store_.projection(builder_, head_rows(3, 6)));
  ASSERT_TRUE(builder_.status().ok()) << builder_.status().message();
  ASSERT_EQ(first.size(), 12u);
  ASSERT_EQ(second.size(), 12u);
  EXPECT_EQ(first.front(), 0.0f);
  EXPECT_EQ(second.front(), 12.0f);
  EXPECT_EQ(second.back(), 23.0f);
}

TEST_F(WeightStoreTest, SharesTheDataOfOneProjectionBetweenFunctions) {
  const auto* first = ir::constant_of(store_.projection(builder_, head_rows(0, 3)));
  const auto* again = ir::constant_of(store_.projection(builder_, head_rows(0, 3)));
  ASSERT_NE(first, nullptr);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(first->data(), again->data());
}

TEST_F(WeightStoreTest, RefusesRowsThatTheMatrixDoesNotHave) {
  EXPECT_EQ(store_.projection(builder_, head_rows(3, 7)), nullptr);
  EXPECT_EQ(builder_.status().code(), Code::kCorrupt);
}

}  // namespace
}  // namespace anemone::compiler
