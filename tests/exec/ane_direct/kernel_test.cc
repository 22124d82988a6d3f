// SPDX-License-Identifier: Apache-2.0
#include "exec/ane_direct/kernel.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "tests/exec/ane_direct/small_kernels.h"

namespace anemone::exec::ane_direct::testing {
namespace {

using Call = Fault::Call;

struct Kernels : ::testing::Test {
  void TearDown() override {
    EXPECT_TRUE(test.runtime->violations().empty()) << test.runtime->violations()[0];
    device = nullptr;
    EXPECT_EQ(test.runtime->live_models(), 0U);
    EXPECT_EQ(test.runtime->live_surfaces(), 0U);
  }
  void open(CheckedOptions options = {}) {
    test.runtime->options = std::move(options);
    auto opened = test.open();
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    device = *opened;
  }
  // A kernel, run on tokens that lie [k, tokens] and [tokens, k]; each result has to be exact.
  void expect_products(const std::vector<std::int64_t>& rows, std::int64_t k, bool has_bias,
                       std::int64_t tokens) {
    KernelSpec spec = small_spec(rows, k, has_bias);
    const Tensor x = sixteenths({k, tokens}, 99);
    std::vector<std::vector<float>> expected;
    for (const KernelMatrix& matrix : spec.matrices) expected.push_back(product(matrix, x));
    const auto kernel = Kernel::make(device, std::move(spec));
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    const auto values = x.view().as<Half>();
    std::vector<Half> transposed(values.size());
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t t = 0; t < tokens; ++t)
        transposed[static_cast<std::size_t>(t * k + i)] =
            values[static_cast<std::size_t>(i * tokens + t)];
    for (const bool is_channel_major : {true, false}) {
      std::vector<Tensor> results;
      std::vector<Columns<Half>> outputs;
      for (const std::int64_t count : rows) {
        results.emplace_back(DType::kFp16, Shape{count, tokens});
        Half* data = results.back().mutable_view().as<Half>().data();
        outputs.push_back(is_channel_major ? Columns<Half>{data, tokens, 1}
                                           : Columns<Half>{data, 1, count});
      }
      const Columns<const Half> in = is_channel_major
                                         ? Columns<const Half>{values.data(), tokens, 1}
                                         : Columns<const Half>{transposed.data(), 1, k};
      const Status ran = (*kernel)->run(in, tokens, outputs);
      ASSERT_TRUE(ran.ok()) << ran.message();
      for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::int64_t r = 0; r < rows[i]; ++r)
          for (std::int64_t t = 0; t < tokens; ++t)
            EXPECT_EQ(
                to_float(outputs[i].data[r * outputs[i].row_stride + t * outputs[i].token_stride]),
                expected[i][static_cast<std::size_t>(r * tokens + t)])
                << i << " " << r << " " << t;
    }
  }
  Status make(std::vector<std::int64_t> rows = {4}, std::int64_t k = 6) {
    return Kernel::make(device, small_spec(rows, k)).status();
  }

  TestDevice test;
  std::shared_ptr<const Device> device;
};

TEST_F(Kernels, ComputeProductsOfAnyNumberOfTokens) {
  open();
  for (const std::int64_t tokens : {1, 31, 32, 33, 70}) expect_products({5}, 7, false, tokens);
}

TEST_F(Kernels, ComputeSeveralProductsWithBiasesAtOnce) {
  open();
  expect_products({8, 2, 3}, 16, true, 3);
  EXPECT_EQ(test.runtime->compiles(), 2);  // with the self-test
}

TEST_F(Kernels, RunOnEveryChipInEveryOrder) {
  for (const char* chip : {"Apple M1 Pro", "Apple M4 Max"})
    for (const PortOrder order : {PortOrder::kAlphabetical, PortOrder::kDeclared}) {
      open({.chip = chip, .inputs = order, .outputs = order});
      expect_products({4, 9}, 6, true, 2);
    }
}

TEST_F(Kernels, TakeEqualSurfacesWhereTheChipWantsThem) {
  open({.needs_equal_surfaces = true});
  expect_products({4, 9}, 6, true, 40);
}

TEST_F(Kernels, RefuseSpecsThatAreNone) {
  open();
  EXPECT_EQ(make({}).message(), "[small] expected 1 to 32 matrices, got 0");
  EXPECT_EQ(make({16'385}, 1).message(), "[small] expected at most 16384 channels, got [16385, 1]");
  EXPECT_EQ(make({1}, 16'385).message(), "[small] expected at most 16384 channels, got [1, 16385]");
  KernelSpec spec = small_spec({4, 4}, 6);
  spec.matrices[1].weights = sixteenths({4, 5}, 1);
  EXPECT_EQ(Kernel::make(device, std::move(spec)).status().message(),
            "[small] expected fp16 matrices of the same depth, got [4, 5]");
  spec = small_spec({4}, 6, true);
  spec.matrices[0].bias = sixteenths({3}, 1);
  EXPECT_EQ(Kernel::make(device, std::move(spec)).status().message(),
            "[small] expected an fp16 bias [4], got [3]");
  spec = small_spec({4}, 6);
  spec.columns = 16;
  EXPECT_EQ(Kernel::make(device, std::move(spec)).status().message(),
            "[i0_x] expected a last axis that is a multiple of 32, got 16");
  EXPECT_EQ(test.runtime->compiles(), 1);  // none of them
  const auto kernel = Kernel::make(device, small_spec({4}, 6));
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ((*kernel)->run({}, 1, {}).code(), Code::kInvalidArgument);
}

TEST_F(Kernels, ThatComputeSomethingElseAreNotMade) {
  open({.miscompiled = {2}});
  const Status status = make();
  EXPECT_EQ(status.code(), Code::kDevice);
  EXPECT_EQ(status.message(),
            "[small] expected what the CPU engine computes, got output 0 with a relative error of "
            "0.5");
  EXPECT_TRUE(make().ok());  // the next one is right
}

TEST_F(Kernels, OnRowsAtAnotherStrideAreNotMade) {
  open();
  test.runtime->options.read_row_bytes = 32;
  const Status status = make();
  EXPECT_EQ(status.code(), Code::kDevice);
  EXPECT_NE(status.message().find("expected what the CPU engine computes, got output 0"),
            std::string::npos)
      << status.message();
}

TEST_F(Kernels, StopBeforeTheCompilerDoes) {
  open();
  std::vector<std::unique_ptr<Kernel>> kernels;
  for (int i = test.budget.used(); i < CompileBudget::kMost; ++i) {
    auto kernel = Kernel::make(device, small_spec({1}, 1));
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    kernels.push_back(std::move(*kernel));
  }
  EXPECT_EQ(make().message(),
            "[small] expected at most 96 compilations for the Neural Engine in one process, got "
            "one more");
  kernels.clear();  // which gives nothing back
  EXPECT_FALSE(make().ok());
  EXPECT_EQ(test.runtime->compiles(), CompileBudget::kMost);
}

TEST_F(Kernels, FailWithTheCauseOfTheCall) {
  open();
  const RuntimeError error = runtime_error("d", 5, "out of luck");
  const std::pair<Call, const char*> cases[] = {
      {Call::kCompile, "[small] cannot compile: "},
      {Call::kLoad, "[small] cannot load: "},
      {Call::kMakeSurface, "[small] cannot make a surface of "},
      {Call::kAccess, "[small] cannot access a surface: "},
      {Call::kEvaluate, "[small] cannot run: "},
  };
  for (const auto& [call, text] : cases) {
    test.runtime->inject({.call = call, .error = error, .times = call == Call::kLoad ? 2 : 1});
    const Status status = make();
    EXPECT_EQ(status.code(), Code::kDevice) << text;
    EXPECT_EQ(status.message().find(text), 0U) << status.message();
    EXPECT_NE(status.message().find("(d 5: out of luck)"), std::string::npos) << status.message();
    EXPECT_EQ(test.runtime->live_models(), 0U) << text;
    EXPECT_EQ(test.runtime->live_surfaces(), 0U) << text;
  }
  EXPECT_TRUE(make().ok());
}

// The runtime gives memory with any contents.
TEST_F(Kernels, HaveSurfacesThatBeginWithZeros) {
  const auto surface = Surface::make(*test.runtime, 192, "small");
  ASSERT_TRUE(surface.ok());
  const Failure failure = test.runtime->access(
      surface->handle(), AneRuntime::Access::kRead, [](std::span<std::byte> memory) {
        EXPECT_EQ(std::ranges::count(memory, std::byte{0}), 192);
      });
  EXPECT_FALSE(failure);
}

TEST_F(Kernels, LoadASecondTime) {
  open();
  test.runtime->inject({.call = Call::kLoad, .error = runtime_error("d", 5, "once")});
  EXPECT_TRUE(make().ok());
}

TEST_F(Kernels, ReportAFailedRunAndRunAgain) {
  open();
  const auto kernel = Kernel::make(device, small_spec({4}, 6));
  ASSERT_TRUE(kernel.ok());
  const Tensor x = sixteenths({6, 40}, 3);
  Tensor y(DType::kFp16, {4, 40});
  const Columns<Half> out{y.mutable_view().as<Half>().data(), 40, 1};
  const Columns<const Half> in{x.view().as<Half>().data(), 40, 1};
  // The second block fails, with an error that a first run has a remedy for.
  test.runtime->inject(
      {.call = Call::kEvaluate, .error = runtime_error("d", 1, "status=0x1d"), .after = 1});
  const Status status = (*kernel)->run(in, 40, {&out, 1});
  EXPECT_EQ(status.code(), Code::kDevice);
  EXPECT_NE(status.message().find("the chip refuses the surfaces of the run (0x1d)"),
            std::string::npos)
      << status.message();
  EXPECT_TRUE((*kernel)->run(in, 40, {&out, 1}).ok());
}

TEST_F(Kernels, RunFromSeveralThreads) {
  open();
  const auto kernel = Kernel::make(device, small_spec({4}, 6));
  ASSERT_TRUE(kernel.ok());
  const KernelSpec spec = small_spec({4}, 6);
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      const Tensor x = sixteenths({6, 3}, i);
      Tensor y(DType::kFp16, {4, 3});
      const Columns<Half> out{y.mutable_view().as<Half>().data(), 3, 1};
      EXPECT_TRUE((*kernel)->run({x.view().as<Half>().data(), 3, 1}, 3, {&out, 1}).ok());
      EXPECT_EQ(to_floats(y.view()), product(spec.matrices[0], x));
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace anemone::exec::ane_direct::testing
