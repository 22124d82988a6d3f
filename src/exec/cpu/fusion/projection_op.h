// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "exec/cpu/fusion/fused_op.h"
#include "exec/cpu/product_offload.h"
#include "kernels/simd/matrix.h"

namespace anemone::exec {

struct ProjectionRun;
struct ProjectionSegment;

// Activations by a weight matrix. Input: x [1, k, T, 1] with the channels outermost, or
// [..., k] with them innermost; output the same with `rows` channels. The tokens of all
// calls are multiplied together, without their padding, whose output is 0.
class ProjectionOp : public FusedOp {
 public:
  ProjectionOp(const kernels::simd::Matrix& matrix, const Half* bias, bool is_channel_major)
      : matrix_(matrix), bias_(bias), is_channel_major_(is_channel_major) {}
  // The product of `other`, which `taken` computes where it can.
  ProjectionOp(const ProjectionOp& other, std::shared_ptr<const OffloadedProduct> taken)
      : ProjectionOp(other) {
    taken_ = std::move(taken);
  }

  std::string_view name() const override { return "projection"; }
  Shape output_shape(const std::vector<const TensorView*>& inputs) const override;
  Cost cost(const Shape& output, std::span<const Shape> states) const override;
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override;

  const kernels::simd::Matrix& matrix() const { return matrix_; }
  const Half* bias() const { return bias_; }  // [rows], nullptr: none
  std::int64_t weight_bytes() const;

  // One token, whose channels lie side by side.
  struct Token {
    const Half* x = nullptr;
    Half* y = nullptr;
  };
  // The product for tokens that lie anywhere, each of them to the same bits in any company.
  void multiply(std::span<const Token> tokens, const FusedContext& context) const;

 private:
  // Tokens of a call, its padding included.
  std::int64_t columns_of(const FusedCall& call) const {
    return call.inputs[0]->size() / matrix_.k;
  }
  std::vector<ProjectionSegment> segments_of(std::span<FusedCall> calls) const;
  void multiply(std::span<const ProjectionSegment> segments, const FusedContext& context) const;
  // Whether all of them were computed elsewhere.
  bool run_elsewhere(std::span<const ProjectionSegment> segments) const;
  void clear_padding(std::span<FusedCall> calls, const FusedContext& context) const;
  // Matrix::row_stats, computed when the first product needs them.
  struct RowStats {
    std::once_flag once;
    std::unique_ptr<std::byte[]> bytes;
  };
  void set_row_stats(kernels::simd::Matrix& matrix, std::int64_t tokens,
                     const FusedContext& context) const;

  const kernels::simd::Matrix matrix_;
  const Half* const bias_;
  const bool is_channel_major_;
  const std::shared_ptr<RowStats> row_stats_ = std::make_shared<RowStats>();
  std::shared_ptr<const OffloadedProduct> taken_;  // null: the CPU's
};

}  // namespace anemone::exec
