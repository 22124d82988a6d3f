// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor.h"

#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tensor/bits.h"

namespace anemone {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename T>
std::vector<T> stored(std::vector<float> values) {
  Tensor tensor(kDTypeOf<T>, {static_cast<std::int64_t>(values.size())});
  store_floats(values, tensor.mutable_view());
  const auto elements = tensor.view().as<T>();
  return {elements.begin(), elements.end()};
}

TEST(Tensor, StartsZeroFilledAndAligned) {
  for (const std::int64_t count : {0, 1, 15, 16, 17, 1000}) {
    const Tensor tensor(DType::kFp32, {count});
    EXPECT_FALSE(tensor.empty());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.view().data) % 64, 0u);
    for (const float value : tensor.view().as<float>()) EXPECT_EQ(value, 0.0f);
  }
  EXPECT_TRUE(Tensor().empty());
}

TEST(Tensor, HoldsWhatItWasMadeFrom) {
  const std::vector<std::int32_t> values = {1, -2, 3, 4, 5, 6};
  const Tensor tensor = Tensor::from<std::int32_t>({2, 3}, values);
  EXPECT_EQ(tensor.dtype(), DType::kInt32);
  EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
  EXPECT_EQ(tensor.view().size(), 6);
  EXPECT_EQ(tensor.view().size_bytes(), 24u);
  EXPECT_EQ(to_ints(tensor.view()), (std::vector<std::int64_t>{1, -2, 3, 4, 5, 6}));
}

TEST(Tensor, AScalarHasOneElementAndNoDimension) {
  const Tensor tensor = Tensor::scalar(2.5f);
  EXPECT_EQ(tensor.shape(), Shape{});
  EXPECT_EQ(tensor.view().size(), 1);
  EXPECT_EQ(element_as_double(tensor.view(), 0), 2.5);
}

TEST(Tensor, ACloneHasItsOwnStorage) {
  Tensor tensor = Tensor::scalar(1.0f);
  const Tensor copy = tensor.clone();
  tensor.mutable_view().as<float>()[0] = 9.0f;
  EXPECT_EQ(copy.view().as<float>()[0], 1.0f);
}

TEST(Tensor, AMoveKeepsTheStorage) {
  Tensor tensor = Tensor::scalar(1.0f);
  const std::byte* data = tensor.view().data;
  const Tensor moved = std::move(tensor);
  EXPECT_EQ(moved.view().data, data);
}

TEST(Tensor, CopiesAViewOfForeignBytes) {
  const std::vector<float> values = {1, 2, 3, 4};
  const TensorView view{DType::kFp32, {2, 2}, reinterpret_cast<const std::byte*>(values.data())};
  EXPECT_EQ(to_floats(Tensor::copy_of(view).view()), values);
}

TEST(TensorDeathTest, AccessUnderTheWrongTypeStops) {
  const Tensor tensor = Tensor::scalar(1.0f);
  EXPECT_DEATH(tensor.view().as<Half>(), "dtype");
}

TEST(TensorElements, EveryNumericTypeReadsAsDoubleAndInt) {
  const auto check = [](const Tensor& tensor, double want) {
    EXPECT_EQ(element_as_double(tensor.view(), 0), want) << dtype_name(tensor.dtype());
    EXPECT_EQ(element_as_int(tensor.view(), 0), static_cast<std::int64_t>(want));
    EXPECT_EQ(to_floats(tensor.view()), std::vector<float>{static_cast<float>(want)});
    EXPECT_EQ(to_ints(tensor.view()), std::vector<std::int64_t>{static_cast<std::int64_t>(want)});
  };
  check(Tensor::scalar(true), 1);
  check(Tensor::scalar(to_half(-2.5f)), -2.5);
  check(Tensor::scalar(to_bfloat16(-2.5f)), -2.5);
  check(Tensor::scalar(-2.5f), -2.5);
  check(Tensor::scalar(-2.5), -2.5);
  check(Tensor::scalar<std::int8_t>(-128), -128);
  check(Tensor::scalar<std::int16_t>(-32768), -32768);
  check(Tensor::scalar<std::int32_t>(-7), -7);
  check(Tensor::scalar<std::int64_t>(-7), -7);
  check(Tensor::scalar<std::uint8_t>(255), 255);
  check(Tensor::scalar<std::uint16_t>(65535), 65535);
  check(Tensor::scalar<std::uint32_t>(4294967295u), 4294967295.0);
  check(Tensor::scalar<std::uint64_t>(12345), 12345);
}

TEST(TensorElements, SubByteTypesAreUnpacked) {
  const std::vector<std::int32_t> values = {-8, -1, 0, 1, 2, 7, 3};
  Tensor tensor(DType::kInt4, {7});
  EXPECT_EQ(tensor.view().size_bytes(), 4u);
  pack_bits(values, DType::kInt4, tensor.mutable_view().bytes());
  EXPECT_EQ(to_ints(tensor.view()), (std::vector<std::int64_t>{-8, -1, 0, 1, 2, 7, 3}));
  EXPECT_EQ(to_floats(tensor.view()), (std::vector<float>{-8, -1, 0, 1, 2, 7, 3}));
  EXPECT_EQ(element_as_int(tensor.view(), 5), 7);
}

TEST(TensorElements, LargeIntegersKeepEveryBit) {
  const std::int64_t value = (std::int64_t{1} << 62) + 1;
  EXPECT_EQ(element_as_int(Tensor::scalar(value).view(), 0), value);
}

TEST(TensorElements, FloatsTruncateTowardZeroAsInts) {
  const std::vector<float> values = {2.9f, -2.9f, 0.5f, -0.5f};
  EXPECT_EQ(to_ints(Tensor::from<float>({4}, values).view()),
            (std::vector<std::int64_t>{2, -2, 0, 0}));
}

TEST(TensorElements, FloatsBeyondIntsSaturateAndNanIsZero) {
  const std::vector<float> values = {1e30f, -1e30f, kInfinity, -kInfinity, kNan};
  EXPECT_EQ(to_ints(Tensor::from<float>({5}, values).view()),
            (std::vector<std::int64_t>{INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, 0}));
}

TEST(TensorElements, AnEmptyTensorGivesEmptyLists) {
  const Tensor tensor(DType::kFp16, {2, 0});
  EXPECT_TRUE(to_floats(tensor.view()).empty());
  EXPECT_TRUE(to_ints(tensor.view()).empty());
  EXPECT_EQ(tensor.clone().view().size(), 0);
}

TEST(StoreFloats, FloatTypesRoundToNearestEven) {
  EXPECT_EQ(stored<float>({1.5f, -0.0f}), (std::vector<float>{1.5f, 0.0f}));
  EXPECT_EQ(stored<double>({0.1f}), std::vector<double>{static_cast<double>(0.1f)});
  EXPECT_EQ(stored<Half>({1.0f + 0x1p-11f, 70000.0f}), (std::vector<Half>{{0x3c00}, {0x7c00}}));
  EXPECT_EQ(stored<BFloat16>({1.0f + 0x1p-8f}), (std::vector<BFloat16>{{0x3f80}}));
}

template <typename T>
void expect_saturating() {
  constexpr T kLow = std::numeric_limits<T>::min();
  constexpr T kHigh = std::numeric_limits<T>::max();
  EXPECT_EQ(stored<T>({1e30f, -1e30f, kInfinity, -kInfinity, kNan, 3.9f, 0.0f}),
            (std::vector<T>{kHigh, kLow, kHigh, kLow, 0, 3, 0}))
      << dtype_name(kDTypeOf<T>);
  // The limits as floats: for wide types they round up to a power of two that T does not hold.
  EXPECT_EQ(stored<T>({static_cast<float>(kHigh), static_cast<float>(kLow)}),
            (std::vector<T>{kHigh, kLow}));
}

TEST(StoreFloats, IntegersSaturateAndNanIsZero) {
  expect_saturating<std::int8_t>();
  expect_saturating<std::int16_t>();
  expect_saturating<std::int32_t>();
  expect_saturating<std::int64_t>();
  expect_saturating<std::uint8_t>();
  expect_saturating<std::uint16_t>();
  expect_saturating<std::uint32_t>();
  expect_saturating<std::uint64_t>();
}

TEST(StoreFloats, IntegersTruncateTowardZero) {
  EXPECT_EQ(stored<std::int8_t>({-0.9f, 0.9f, -127.9f, 127.9f, -128.9f}),
            (std::vector<std::int8_t>{0, 0, -127, 127, -128}));
  EXPECT_EQ(stored<std::uint8_t>({-0.9f, 0.9f, 255.5f, -1.0f}),
            (std::vector<std::uint8_t>{0, 0, 255, 0}));
  EXPECT_EQ(stored<std::int32_t>({16777217.0f, -5.5f}), (std::vector<std::int32_t>{16777216, -5}));
}

TEST(StoreFloats, BoolIsWhetherTheValueIsNotZero) {
  EXPECT_EQ(stored<bool>({0.0f, -0.0f, 1.0f, 0.1f, -3.0f, kNan, kInfinity}),
            (std::vector<bool>{false, false, true, true, true, true, true}));
}

TEST(StoreFloatsDeathTest, SizesThatDifferStop) {
  Tensor tensor(DType::kFp32, {2});
  const std::vector<float> values = {1, 2, 3};
  EXPECT_DEATH(store_floats(values, tensor.mutable_view()), "values.size");
}

}  // namespace
}  // namespace anemone
