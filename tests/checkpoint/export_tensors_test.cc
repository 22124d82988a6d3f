// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/export_tensors.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>

#include "checkpoint/safetensors.h"
#include "tests/support/shared_data.h"

namespace anemone::checkpoint {
namespace {

using anemone::testing::TemporaryFolder;

class ExportTensors : public ::testing::Test {
 protected:
  // Floats of the three dtypes and integers, and an empty tensor.
  void write_source(std::vector<float> floats) {
    const auto count = static_cast<std::int64_t>(floats.size());
    std::vector<NamedView> views;
    std::vector<Tensor> tensors;
    for (const DType dtype : {DType::kFp32, DType::kFp16, DType::kBf16}) {
      Tensor tensor(dtype, {count});
      store_floats(floats, tensor.mutable_view());
      tensors.push_back(std::move(tensor));
    }
    const std::vector<std::int64_t> ids = {-1, 1'000'000'000'000};
    tensors.push_back(Tensor::from<std::int64_t>({2}, ids));
    tensors.emplace_back(DType::kFp16, Shape{0, 3});
    const char* const names[] = {"a", "b", "c", "ids", "none"};
    for (std::size_t i = 0; i < tensors.size(); ++i) views.push_back({names[i], tensors[i].view()});
    ASSERT_TRUE(write_safetensors(source_, views).ok());
  }

  Status run(DType dtype) {
    const auto file = SafetensorsFile::open(source_);
    return file.ok() ? export_tensors(**file, target_, dtype) : file.status();
  }

  TemporaryFolder folder_;
  const std::string source_ = folder_.file("source.safetensors");
  const std::string target_ = folder_.file("target.safetensors");
};

TEST_F(ExportTensors, KeepsNamesShapesIntegersAndTheValueOfEveryFloat) {
  // More elements than one piece has.
  std::vector<float> values((1 << 20) + 7);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  write_source(values);
  ASSERT_TRUE(run(DType::kFp32).ok());
  const auto source = SafetensorsFile::open(source_);
  const auto target = SafetensorsFile::open(target_);
  ASSERT_TRUE(source.ok() && target.ok());
  ASSERT_EQ((*target)->all().size(), 5U);
  for (const WeightRef* want : (*source)->all()) {
    const WeightRef* got = (*target)->find(want->name);
    ASSERT_NE(got, nullptr) << want->name;
    EXPECT_EQ(got->shape, want->shape);
    EXPECT_EQ(got->dtype, is_float(want->dtype) ? DType::kFp32 : want->dtype);
    if (is_float(want->dtype))
      EXPECT_EQ(to_floats(got->view()), to_floats(want->view())) << want->name;
    else
      EXPECT_EQ(to_ints(got->view()), to_ints(want->view())) << want->name;
  }
}

TEST_F(ExportTensors, NarrowerFloatsAreTheNearest) {
  write_source({1.0F, 1.00390625F, -3.1415927F});
  ASSERT_TRUE(run(DType::kBf16).ok());
  const auto target = SafetensorsFile::open(target_);
  ASSERT_TRUE(target.ok());
  // 1 + 1/256 is the middle between two bf16 numbers: to even.
  EXPECT_EQ(to_floats((*target)->find("a")->view()), (std::vector<float>{1, 1, -3.140625F}));
}

TEST_F(ExportTensors, RefusesWhatFp16CannotHoldAndLeavesNothing) {
  write_source({1, 70000});
  const Status status = run(DType::kFp16);
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("70000"), std::string::npos) << status.message();
  EXPECT_FALSE(std::filesystem::exists(target_));
  const float infinity = std::numeric_limits<float>::infinity();
  write_source({1, -infinity});
  EXPECT_TRUE(run(DType::kFp16).ok());
}

}  // namespace
}  // namespace anemone::checkpoint
