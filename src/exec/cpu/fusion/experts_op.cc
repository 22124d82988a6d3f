// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/experts_op.h"

#include <algorithm>
#include <memory>

#include "exec/cpu/fusion/scratch.h"

namespace anemone::exec {
namespace {

// Elements of activations that one thread takes at a time.
constexpr std::int64_t kExpertGrain = 8192;

thread_local Scratch expert_scratch;

std::int64_t tokens_at_once(std::int64_t width) {
  return std::max<std::int64_t>(1, kExpertGrain / width);
}

}  // namespace

std::int64_t Expert::weight_bytes() const {
  std::int64_t bytes = out.weight_bytes();
  for (const ProjectionOp& projection : in) bytes += projection.weight_bytes();
  return bytes;
}

Cost ExpertsOp::cost(const Shape& output, std::span<const Shape> /*states*/) const {
  const auto count = static_cast<std::int64_t>(experts_.size());
  const std::int64_t tokens = element_count(output) / experts_.front().out.matrix().rows;
  std::int64_t bytes = 0;
  std::int64_t products = 0;
  for (const Expert& expert : experts_) {
    bytes += expert.weight_bytes();
    products += expert.out.matrix().rows * expert.out.matrix().k;
    for (const ProjectionOp& in : expert.in) products += in.matrix().rows * in.matrix().k;
  }
  // A part of a layer counts as many active experts as it has on average; all if their number is
  // not known.
  const std::int64_t active = counts_.active > 0 ? counts_.active : counts_.total;
  return {.weight_bytes = bytes / counts_.total * std::min(counts_.total, active * tokens),
          .flops = 2 * (products / count) * active * count / counts_.total * tokens,
          .form = experts_.front().out.matrix().form_name(),
          .depends_on_inputs = true,
          .experts = counts_};
}

// One run of all calls together. Their tokens are numbered one call after the other.
class ExpertsOp::Run {
 public:
  Run(const ExpertsOp& op, std::span<FusedCall> calls, const FusedContext& context)
      : op_(op),
        calls_(calls),
        context_(context),
        channels_(op.experts_.front().in.front().matrix().k),
        rows_(op.experts_.front().out.matrix().rows),
        of_a_call_(calls.front().inputs[0]->size() / channels_),
        tokens_(of_a_call_ * static_cast<std::int64_t>(calls.size())) {}

  void run() {
    if (tokens_ == 0) return;
    gather_inputs();
    begin_sums();
    for (std::size_t e = 0; e < op_.experts_.size(); ++e) {
      find_active_tokens(e);
      if (active_.empty()) continue;
      run_expert(op_.experts_[e]);
      context_.bytes_read += op_.experts_[e].weight_bytes();
    }
    store();
  }

 private:
  // A token for which the expert at hand is active.
  struct ActiveToken {
    std::int64_t token = 0;
    float weight = 0;
  };

  // The call of a token, and which of its tokens it is.
  std::pair<FusedCall*, std::int64_t> place(std::int64_t token) const {
    return {&calls_[static_cast<std::size_t>(token / of_a_call_)], token % of_a_call_};
  }

  // Channels side by side, copied only where they are not.
  void gather_inputs() {
    x_.resize(static_cast<std::size_t>(tokens_));
    const Layout from = op_.layout(of_a_call_, channels_);
    const bool is_copied = from.channel != 1;
    Half* copies = is_copied ? inputs_.take<Half>(tokens_ * channels_) : nullptr;
    context_.threads.parallel_for(
        tokens_, tokens_at_once(channels_), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t t = begin; t < end; ++t) {
            const auto [call, index] = place(t);
            const Half* in = call->inputs[0]->as<Half>().data() + index * from.token;
            x_[static_cast<std::size_t>(t)] = in;
            if (!is_copied) continue;
            Half* out = copies + t * channels_;
            for (std::int64_t c = 0; c < channels_; ++c) out[c] = in[c * from.channel];
            x_[static_cast<std::size_t>(t)] = out;
          }
        });
  }

  void begin_sums() {
    sums_ = sum_memory_.take<float>(tokens_ * rows_);
    if (!op_.has_addend_) {
      std::fill(sums_, sums_ + tokens_ * rows_, 0.0f);
      return;
    }
    const Layout from = op_.layout(of_a_call_, rows_);
    context_.threads.parallel_for(
        tokens_, tokens_at_once(rows_), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t t = begin; t < end; ++t) {
            const auto [call, index] = place(t);
            const Half* in = call->inputs.back()->as<Half>().data() + index * from.token;
            float* sum = sums_ + t * rows_;
            if (from.channel == 1)
              context_.kernels.to_floats(in, sum, rows_);
            else
              for (std::int64_t r = 0; r < rows_; ++r) sum[r] = to_float(in[r * from.channel]);
          }
        });
  }

  void find_active_tokens(std::size_t expert) {
    active_.clear();
    for (std::int64_t t = 0; t < tokens_; ++t) {
      const auto [call, index] = place(t);
      if (index >= call->real.of(of_a_call_)) continue;
      const float weight = to_float(call->inputs[1 + expert]->as<Half>().data()[index]);
      if (weight != 0) active_.push_back({t, weight});
    }
  }

  void run_expert(const Expert& expert) {
    const auto count = static_cast<std::int64_t>(active_.size());
    const std::int64_t width = expert.out.matrix().k;
    std::vector<ProjectionOp::Token> tokens(active_.size());
    // Outputs of the first projections, one after the other; then those of the elementwise steps
    // and of the last projection.
    std::vector<const Half*> projected;
    std::int64_t size = count * (width + rows_);
    for (const ProjectionOp& in : expert.in) size += count * in.matrix().rows;
    Half* at = middle_.take<Half>(size);
    for (const ProjectionOp& in : expert.in) {
      const std::int64_t rows = in.matrix().rows;
      for (std::size_t i = 0; i < tokens.size(); ++i)
        tokens[i] = {x_[static_cast<std::size_t>(active_[i].token)],
                     at + static_cast<std::int64_t>(i) * rows};
      in.multiply(tokens, context_);
      projected.push_back(at);
      at += count * rows;
    }
    Half* products = at;
    Half* outputs = at + count * width;
    const std::vector<kernels::simd::ChainInput> whole(expert.parts.size(), {1, width});
    const kernels::simd::Chain chain = {whole.data(), expert.steps.data(),
                                        static_cast<std::int64_t>(expert.steps.size())};
    context_.threads.parallel_for(
        count, tokens_at_once(width), [&](std::int64_t begin, std::int64_t end) {
          const Half* inputs[kernels::simd::kChainInputs];
          for (std::int64_t i = begin; i < end; ++i) {
            for (std::size_t p = 0; p < expert.parts.size(); ++p) {
              const auto [projection, offset] = expert.parts[p];
              inputs[p] = projected[projection] + i * expert.in[projection].matrix().rows + offset;
            }
            context_.kernels.run_chain(chain, inputs, 0, width, products + i * width);
          }
        });
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto n = static_cast<std::int64_t>(i);
      tokens[i] = {products + n * width, outputs + n * rows_};
    }
    expert.out.multiply(tokens, context_);
    context_.threads.parallel_for(
        count, tokens_at_once(rows_), [&](std::int64_t begin, std::int64_t end) {
          float* values = expert_scratch.take<float>(rows_);
          for (std::int64_t i = begin; i < end; ++i) {
            const auto [token, weight] = active_[static_cast<std::size_t>(i)];
            context_.kernels.to_floats(outputs + i * rows_, values, rows_);
            float* sum = sums_ + token * rows_;
            for (std::int64_t r = 0; r < rows_; ++r) sum[r] += weight * values[r];
          }
        });
  }

  void store() {
    const Layout to = op_.layout(of_a_call_, rows_);
    context_.threads.parallel_for(
        tokens_, tokens_at_once(rows_), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t t = begin; t < end; ++t) {
            const auto [call, index] = place(t);
            Half* out = call->outputs[0].as<Half>().data() + index * to.token;
            const float* sum = sums_ + t * rows_;
            if (to.channel == 1)
              context_.kernels.to_halves(sum, out, rows_);
            else
              for (std::int64_t r = 0; r < rows_; ++r) out[r * to.channel] = to_half(sum[r]);
          }
        });
  }

  const ExpertsOp& op_;
  const std::span<FusedCall> calls_;
  const FusedContext& context_;
  const std::int64_t channels_;
  const std::int64_t rows_;
  const std::int64_t of_a_call_;     // tokens
  const std::int64_t tokens_;        // of all calls
  std::vector<const Half*> x_;       // of each token
  std::vector<ActiveToken> active_;  // of the expert at hand
  float* sums_ = nullptr;            // [tokens, rows]
  Scratch inputs_;
  Scratch sum_memory_;
  Scratch middle_;
};

Status ExpertsOp::run(std::span<FusedCall> calls, const FusedContext& context) const {
  Run(*this, calls, context).run();
  return {};
}

}  // namespace anemone::exec
