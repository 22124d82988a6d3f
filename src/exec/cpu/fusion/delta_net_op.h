// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/cpu/fusion/fused_op.h"

namespace anemone::exec {

// A gated delta net over T tokens. Inputs: queries and keys [a, b, T, K], values [A, B, T, V], and
// for each token and head its writing strength and its decay, [a, b, T, 1]; a is 1 or A, and b is 1
// or B. State: [A, B, K, V], replaced in place. Gives what the tokens read, [A, B, T, V], with the
// bits of the operations one by one, unless CpuOptions::chunks_delta_nets holds and T > 1.
class DeltaNetOp : public FusedOp {
 public:
  enum Input : std::size_t { kQueries, kKeys, kValues, kStrengths, kDecays, kInputs };

  explicit DeltaNetOp(std::int64_t key_dim) : key_dim_(key_dim) {}
  std::string_view name() const override { return "delta_net"; }
  // A value of a token is read for its columns alone, before what they read is written.
  bool can_overwrite(std::size_t i) const override { return i == kValues; }
  // What the state says for the key and for the query.
  Cost cost(const Shape& output, std::span<const Shape> /*states*/) const override {
    return {0, 4 * element_count(output) * key_dim_};
  }
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override;

 private:
  const std::int64_t key_dim_;
};

}  // namespace anemone::exec
