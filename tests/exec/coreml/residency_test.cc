// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/residency.h"

#include <gtest/gtest.h>
#include <vector>

namespace anemone::exec::coreml {
namespace {

PlannedOperation planned(const char* name, const char* type, Device device, double cost = 0) {
  return {name, type, device, {Device::kCpu, device}, cost};
}
PredictedOperation predicted(const char* name, const char* type,
                             Device device = Device::kNeuralEngine) {
  return {name, type, device, device == Device::kNeuralEngine ? "" : "a law"};
}

TEST(Residency, AllOnTheChipAsPredicted) {
  const std::vector<PlannedOperation> plan = {
      planned("w", "const", Device::kUnknown),
      planned("a", "ios18.conv", Device::kNeuralEngine, 0.75),
      planned("b", "ios18.softmax", Device::kNeuralEngine, 0.25)};
  const std::vector<PredictedOperation> predictions = {predicted("a", "conv"),
                                                       predicted("b", "softmax")};
  const Residency joined = join(plan, predictions);
  EXPECT_EQ(joined.verdict, Verdict::kResident);
  ASSERT_EQ(joined.operations.size(), 2u);
  EXPECT_EQ(joined.operations[0].type, "conv");
  EXPECT_TRUE(joined.operations[0].is_supported);
  EXPECT_EQ(joined.cost_on_chip, 1);
  EXPECT_EQ(joined.summary(), "resident: 2 of 2 operations on the Neural Engine, 0 transitions");
}

TEST(Residency, CountsWhatLeavesTheChipAndWhatWasNotForeseen) {
  const std::vector<PlannedOperation> plan = {
      planned("a", "ios18.conv", Device::kNeuralEngine, 0.5),
      planned("b", "ios18.softmax", Device::kCpu, 0.25),
      planned("c", "ios18.gather", Device::kCpu, 0.125),
      planned("d", "ios18.conv", Device::kNeuralEngine, 0.125),
      planned("e", "ios18.cast", Device::kGpu)};
  const std::vector<PredictedOperation> predictions = {
      predicted("a", "conv"), predicted("b", "softmax"), predicted("c", "gather", Device::kCpu),
      predicted("d", "conv"), predicted("z", "relu")};
  const Residency joined = join(plan, predictions);
  EXPECT_EQ(joined.verdict, Verdict::kPartly);
  EXPECT_EQ(joined.on_chip, 2u);
  EXPECT_EQ(joined.transitions, 3u);
  EXPECT_EQ(joined.contradicted, 1u);
  EXPECT_TRUE(joined.operations[1].is_contradicted());
  EXPECT_EQ(joined.operations[2].reason, "a law");
  EXPECT_EQ(joined.unpredicted, 1u);
  EXPECT_EQ(joined.unplanned, 1u);
  EXPECT_DOUBLE_EQ(joined.cost_on_chip, 0.625);
  EXPECT_EQ(joined.summary(),
            "partly: 2 of 5 operations on the Neural Engine, 3 transitions, 1 not as predicted, 1 "
            "not predicted");
}

TEST(Residency, RenamedOperationsAreMatchedByTypeAndNeverTakeTheNameOfAnother) {
  const std::vector<PlannedOperation> plan = {
      planned("renamed", "ios18.conv", Device::kNeuralEngine),
      planned("b", "ios18.conv", Device::kCpu)};
  const std::vector<PredictedOperation> predictions = {predicted("b", "conv", Device::kCpu),
                                                       predicted("a", "conv")};
  const Residency joined = join(plan, predictions);
  EXPECT_EQ(joined.operations[0].predicted, Device::kNeuralEngine);
  EXPECT_EQ(joined.operations[1].predicted, Device::kCpu);
  EXPECT_EQ(joined.contradicted, 0u);
}

TEST(Residency, WithoutDevicesItIsUnknownAndNeverResident) {
  const std::vector<PlannedOperation> plan = {planned("a", "conv", Device::kUnknown)};
  EXPECT_EQ(join(plan, {}).verdict, Verdict::kUnknown);
  EXPECT_EQ(join({}, {}).verdict, Verdict::kUnknown);
  EXPECT_EQ(join({}, {}).summary(), "unknown: Core ML tells of no operation where it would run");
  const std::vector<PlannedOperation> cpu = {planned("a", "conv", Device::kCpu)};
  EXPECT_EQ(join(cpu, {}).verdict, Verdict::kElsewhere);
}

}  // namespace
}  // namespace anemone::exec::coreml
