// SPDX-License-Identifier: Apache-2.0
#include "exec/ane_direct/port_order.h"

#include <gtest/gtest.h>

#include "tests/exec/ane_direct/small_kernels.h"

namespace anemone::exec::ane_direct::testing {
namespace {

TEST(PortOrder, IsFoundWhateverItIs) {
  for (const char* chip : {"Apple M1", "Apple M4"})
    for (const PortOrder inputs : {PortOrder::kAlphabetical, PortOrder::kDeclared})
      for (const PortOrder outputs : {PortOrder::kAlphabetical, PortOrder::kDeclared}) {
        TestDevice test({.chip = chip, .inputs = inputs, .outputs = outputs});
        const auto device = test.open();
        ASSERT_TRUE(device.ok()) << device.status().message();
        EXPECT_EQ((*device)->bindings().inputs, inputs);
        EXPECT_EQ((*device)->bindings().outputs, outputs);
        EXPECT_EQ(test.runtime->compiles(), 1);
        EXPECT_EQ(test.budget.used(), 1);
        EXPECT_EQ(test.runtime->live_models(), 0U);
        EXPECT_EQ(test.runtime->live_surfaces(), 0U);
        EXPECT_TRUE(test.runtime->violations().empty());
      }
}

// The chip reads rows where they are not.
TEST(PortOrder, RowsAtAnotherStrideAreNoOrder) {
  for (const std::uint64_t stride : {32U, 128U}) {
    TestDevice test({.read_row_bytes = stride});
    const Status status = test.open().status();
    EXPECT_EQ(status.code(), Code::kDevice);
    EXPECT_EQ(status.message().find(
                  "[self-test of the order of surfaces] expected the markers in some order, got "),
              0U)
        << status.message();
  }
}

TEST(PortOrder, ResultsThatAreWrongAreNoOrder) {
  TestDevice test({.miscompiled = {1}});
  EXPECT_EQ(test.open().status().code(), Code::kDevice);
  EXPECT_EQ(test.runtime->live_models(), 0U);
}

TEST(PortOrder, NeedsACompilation) {
  TestDevice test({}, 0);
  EXPECT_EQ(test.open().status().message(),
            "[self-test of the order of surfaces] expected at most 0 compilations for the Neural "
            "Engine in one process, got one more");
  EXPECT_EQ(test.runtime->compiles(), 0);
}

TEST(Device, RefusesAQualityThatIsNone) {
  TestDevice test;
  for (const std::uint32_t qos : {64U, ~0U})
    EXPECT_EQ(Device::open(test.runtime, {.budget = &test.budget, .qos = qos}).status().code(),
              Code::kInvalidArgument);
}

TEST(Device, IsNotThereInThisBuild) {
  const Status status = Device::open(make_ane_runtime()).status();
  EXPECT_EQ(status.message(),
            "[Neural Engine] expected a build with ANEMONE_PRIVATE_ANE on macOS, got none");
}

}  // namespace
}  // namespace anemone::exec::ane_direct::testing
