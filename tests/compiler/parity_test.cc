// SPDX-License-Identifier: Apache-2.0
// Checkpoint -> packages -> logits, against transformers.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::TemporaryFolder;

// fp32 sums of a few hundred terms in another order than PyTorch's: 2e-5 was seen at logits of
// magnitude 10, the same that separates float64 from float32 in PyTorch itself. 2e-3 is a
// hundredfold of that and still far below what any wrong formula gives.
constexpr float kFp32Tolerance = 2e-3F;

struct Cosines {
  double median = 0;
  double mean = 0;
  double lowest = 0;
};

// Of each position's logits with the golden ones.
Cosines cosines(const std::vector<float>& got, const std::vector<float>& wanted,
                std::size_t vocab_size) {
  std::vector<double> all;
  for (std::size_t row = 0; row + vocab_size <= wanted.size(); row += vocab_size) {
    double dot = 0;
    double got_square = 0;
    double wanted_square = 0;
    for (std::size_t i = row; i < row + vocab_size; ++i) {
      dot += double{got[i]} * wanted[i];
      got_square += double{got[i]} * got[i];
      wanted_square += double{wanted[i]} * wanted[i];
    }
    all.push_back(dot / std::sqrt(got_square * wanted_square));
  }
  std::sort(all.begin(), all.end());
  return {all[all.size() / 2],
          std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size()),
          all.front()};
}

class Parity : public ::testing::TestWithParam<Checkpoint> {
 protected:
  void SetUp() override {
    if (!is_present(GetParam())) GTEST_SKIP() << "absent: " << GetParam().path;
    golden_ = read_golden(GetParam());
    ASSERT_EQ(golden_.logits.size(), golden_.prompt.size() * golden_.vocab_size);
    ASSERT_FALSE(golden_.logits.empty());
  }

  // Logits as the packages give them; empty after a failure.
  Answer run(const CompileOptions& options) {
    auto model = compile_and_load(GetParam(), folder_.file("artifact"), options);
    if (model == nullptr) return {};
    Answer answer = run_greedily(std::move(model), golden_.prompt, golden_.continuation.size());
    EXPECT_EQ(answer.logits.size(), golden_.logits.size());
    return answer;
  }

  // Wide enough for every prompt with its continuation; the interpreter's time is in the context.
  static constexpr std::int64_t kShortContext = 128;

  void report(const char* what, const Cosines& value) {
    const std::string name(what);
    RecordProperty(name + "_cosine_median", std::to_string(value.median));
    RecordProperty(name + "_cosine_mean", std::to_string(value.mean));
    RecordProperty(name + "_cosine_lowest", std::to_string(value.lowest));
    std::printf("%s %s: cosine median %.6f, mean %.6f, lowest %.6f\n", GetParam().name.c_str(),
                what, value.median, value.mean, value.lowest);
  }

  Golden golden_;
  TemporaryFolder folder_;
};

// The tiny checkpoints have no matrix that is large enough to be quantized.
class Int8Parity : public Parity {
 public:
  static std::vector<Checkpoint> checkpoints_that_are_quantized() {
    std::vector<Checkpoint> all = checkpoints();
    std::erase_if(all, [](const Checkpoint& each) { return each.name.starts_with("tiny_"); });
    return all;
  }
};

TEST_P(Parity, Fp32GivesTheGoldenLogitsAndTokens) {
  const Answer answer = run({.precision = DType::kFp32, .scheme = quant::Scheme::kNone});
  ASSERT_EQ(answer.logits.size(), golden_.logits.size());
  float worst = 0;
  for (std::size_t i = 0; i < answer.logits.size(); ++i) {
    ASSERT_TRUE(std::isfinite(answer.logits[i])) << i;
    worst = std::max(worst, std::abs(answer.logits[i] - golden_.logits[i]));
  }
  EXPECT_LE(worst, kFp32Tolerance);
  EXPECT_EQ(answer.continuation, golden_.continuation);
}

// The bounds of the next tests are on the angle, since fp16 rounds relative to the magnitude.
TEST_P(Parity, Fp16StaysCloseToTheGoldenLogits) {
  const Answer answer = run({.scheme = quant::Scheme::kNone});
  ASSERT_EQ(answer.logits.size(), golden_.logits.size());
  const Cosines value = cosines(answer.logits, golden_.logits, golden_.vocab_size);
  report("fp16", value);
  EXPECT_GE(value.median, 0.9999);
  EXPECT_GE(value.mean, 0.999);
}

// int8 leaves 127 steps to each side: an error of about 1/127/sqrt(12) of the largest weight, which
// for normal weights is 4 standard deviations: 1 % noise a matrix, so 1e-4 in the cosine for each
// of some twenty matrices. Random weights are the worst case: nothing in them is redundant.
TEST_P(Int8Parity, Int8StaysNearTheGoldenLogits) {
  const Answer answer = run({.scheme = quant::Scheme::kInt8});
  ASSERT_EQ(answer.logits.size(), golden_.logits.size());
  const Cosines value = cosines(answer.logits, golden_.logits, golden_.vocab_size);
  report("int8", value);
  EXPECT_GE(value.median, 0.995);
}

TEST_P(Int8Parity, Int8PerChannelStaysNearTheGoldenLogits) {
  const Answer answer = run({.scheme = quant::Scheme::kInt8Channel});
  ASSERT_EQ(answer.logits.size(), golden_.logits.size());
  const Cosines value = cosines(answer.logits, golden_.logits, golden_.vocab_size);
  report("int8-channel", value);
  EXPECT_GE(value.median, 0.997);
}

// A chunk of T tokens has its own padding, masks and cache writes: every form of a prompt must give
// the bits of every other.
TEST_P(Parity, PrefillInChunksEqualsOnePassBitwise) {
  const CompileOptions exact = {.precision = DType::kFp32, .scheme = quant::Scheme::kNone};
  for (const CompileOptions& base : {exact, CompileOptions()}) {
    std::vector<float> one_pass;
    for (const std::int64_t width : {64, 1, 7, 16}) {
      CompileOptions options = base;
      options.prefill = width;
      options.context = kShortContext;
      const Answer answer = run(options);
      ASSERT_FALSE(answer.logits.empty());
      if (one_pass.empty())
        one_pass = answer.logits;
      else
        EXPECT_TRUE(answer.logits == one_pass) << "prefill " << width;
    }
  }
}

TEST_P(Parity, ShardsGiveTheBitsOfOnePackage) {
  CompileOptions options;
  options.context = kShortContext;
  options.shards = "1";
  const Answer whole = run(options);
  options.shards = "3";
  EXPECT_TRUE(run(options).logits == whole.logits);
}

INSTANTIATE_TEST_SUITE_P(, Parity, ::testing::ValuesIn(checkpoints()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(, Int8Parity,
                         ::testing::ValuesIn(Int8Parity::checkpoints_that_are_quantized()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace anemone::compiler::testing
