// SPDX-License-Identifier: Apache-2.0
// The limits that measured speeds are compared with, and the median and spread of several speeds.
#include <gtest/gtest.h>

#include "bench/machine_rates.h"
#include "bench/memory_use.h"
#include "bench/model_cost.h"
#include "bench/record.h"
#include "bench/speed.h"

namespace anemone::bench {
namespace {

// 1 GB/s, 1 TOP/s, 1 TFLOP/s.
MachineRates round_rates() {
  MachineRates rates;
  rates.read_gb_s = 1;
  rates.int8_tops = 1;
  rates.bf16_tflops = 1;
  return rates;
}

ModelCost small_model() {
  ModelCost cost;
  cost.weight_bytes = 1'000'000;
  cost.kv_bytes = 1000;
  cost.layers = {2e6, 0};
  cost.heads = {1e6, 0};
  cost.attention_flops = 1000;
  return cost;
}

TEST(Limits, DecodingIsLimitedByTheBytesOfAStep) {
  const ModelCost cost = small_model();
  EXPECT_DOUBLE_EQ(cost.step_bytes(1, 0), 1'001'000);
  EXPECT_DOUBLE_EQ(cost.step_bytes(8, 99), 1'800'000);
  EXPECT_DOUBLE_EQ(cost.decode_limit(round_rates(), 1, 99), 1e9 / 1'100'000);
  EXPECT_DOUBLE_EQ(cost.decode_limit(round_rates(), 8, 99), 8e9 / 1'800'000);
}

TEST(Limits, ManyStreamsAndLongPromptsAreLimitedByProducts) {
  const ModelCost cost = small_model();
  MachineRates slow = round_rates();
  slow.int8_tops = 1e-3;
  slow.bf16_tflops = 1e-3;
  // 3e6 operations of int8 and 1000 of attention, 10^9 a second.
  EXPECT_DOUBLE_EQ(cost.decode_limit(slow, 1000, 0), 1e9 / (3e6 + 1000));
  // 10 tokens: 2e7 of layers, 1e6 of heads, attention over 1 + 2 + ... + 10 tokens.
  EXPECT_DOUBLE_EQ(cost.prefill_limit(slow, 10, 0), 10 * 1e9 / (2e7 + 1e6 + 55e3));
  EXPECT_LT(cost.prefill_limit(slow, 10, 500), cost.prefill_limit(slow, 10, 0));
}

TEST(Limits, TheMachineIsMeasured) {
  const MachineRates rates = measure_machine(1, "plain");
  EXPECT_GT(rates.read_gb_s, 0);
  EXPECT_GT(rates.int8_tops, 0);
  EXPECT_GT(rates.bf16_tflops, 0);
  EXPECT_EQ(rates.int8_with, "plain");
  EXPECT_EQ(rates.bf16_with, "plain-fp32");
}

TEST(Limits, MemoryIsSaidWhereTheSystemSaysIt) {
  const MemoryUse use = memory_use();
#if defined(__linux__) || defined(__APPLE__)
  EXPECT_GT(use.resident, 0U);
  EXPECT_LE(use.anonymous, use.resident);
  EXPECT_GE(use.peak, use.anonymous);
#else
  EXPECT_EQ(use.resident, 0U);
#endif
}

TEST(Speeds, TheMedianCountsAndTheSpreadIsThatOfASample) {
  const Speed odd = speed_of({30, 10, 20});
  EXPECT_DOUBLE_EQ(odd.tok_s, 20);
  EXPECT_DOUBLE_EQ(odd.stddev, 10);
  EXPECT_DOUBLE_EQ(speed_of({10, 20, 40, 30}).tok_s, 25);
  EXPECT_DOUBLE_EQ(speed_of({7}).stddev, 0);
}

TEST(Speeds, AShareNeedsALimit) {
  Record record;
  record.tok_s = 30;
  EXPECT_DOUBLE_EQ(record.share_of_limit(), 0);
  record.limit_tok_s = 60;
  EXPECT_DOUBLE_EQ(record.share_of_limit(), 0.5);
  EXPECT_EQ(table_row(record).size(), table_heading().size());
}

}  // namespace
}  // namespace anemone::bench
