// SPDX-License-Identifier: Apache-2.0
#include "engine/session/experts.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "tensor/half.h"

namespace anemone::engine {
namespace {

float value_at(const TensorView& view, std::int64_t index) {
  const auto i = static_cast<std::size_t>(index);
  return view.dtype == DType::kFp16 ? to_float(view.as<Half>()[i]) : view.as<float>()[i];
}

void set_value(const MutableTensorView& view, std::int64_t index, float value) {
  const auto i = static_cast<std::size_t>(index);
  if (view.dtype == DType::kFp16)
    view.as<Half>()[i] = to_half(value);
  else
    view.as<float>()[i] = value;
}

// Runs the experts of one shard for the tokens of some chunks and adds up their outputs, each times
// its routing weight.
class RoutedExperts {
 public:
  RoutedExperts(const Model& model, std::size_t shard, std::span<Chunk> chunks,
                StepObserver* observer)
      : model_(model),
        observer_(observer),
        shard_(model.manifest().shards[shard]),
        experts_(*shard_.experts),
        packs_(model.expert_packs(shard)),
        index_(shard),
        chunks_(chunks),
        channels_(model.manifest().hidden_size),
        tokens_(chunks.front().host_inputs->tokens()),
        width_(experts_.width_for(tokens_)) {}

  Status run() {
    ANEMONE_RETURN_IF_ERROR(find_inputs());
    for (std::size_t p = 0; p < packs_.size(); ++p)
      for (std::int64_t e = experts_.packs[p].begin; e < experts_.packs[p].end; ++e) {
        batch_active_tokens(e);
        if (batches_.empty()) continue;
        const Status status = run_expert(p, artifact::expert_function(e, width_));
        if (!status.ok()) return status.with(experts_.packs[p].package);
        add_outputs();
      }
    store();
    return {};
  }

 private:
  // What the shard gave for one chunk, and the sum of the experts' outputs so far.
  struct Source {
    TensorView x;
    TensorView weights;
    std::vector<float> sums;  // [tokens, channels]
  };
  // A token for which an expert is active.
  struct ActiveToken {
    std::int64_t token = 0;
    float weight = 0;
  };
  // Tokens of one chunk that go through an expert together.
  struct Batch {
    Source* source = nullptr;
    std::vector<ActiveToken> tokens;
    Tensor x;
    exec::Inputs inputs;
    exec::Outputs outputs;
  };

  Shape shape(std::int64_t channels, std::int64_t tokens) const {
    return artifact::hidden_shape(model_.manifest().form.layout, channels, tokens);
  }

  Status find_inputs() {
    for (const Chunk& chunk : chunks_) {
      const exec::Outputs& outputs = chunk.outputs->shards[index_];
      Source source;
      ANEMONE_ASSIGN_OR_RETURN(source.x, checked_output(outputs, shard_.package, experts_.input,
                                                        shape(channels_, tokens_)));
      ANEMONE_ASSIGN_OR_RETURN(source.weights,
                               checked_output(outputs, shard_.package, experts_.weights,
                                              shape(experts_.count, tokens_)));
      source.sums.resize(static_cast<std::size_t>(tokens_ * channels_));
      sources_.push_back(std::move(source));
    }
    return {};
  }

  // Collects the tokens for which the expert is active, at most width_ in a batch.
  void batch_active_tokens(std::int64_t expert) {
    batches_.clear();
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      Source& source = sources_[i];
      Batch* open = nullptr;
      for (std::int64_t t = 0; t < chunks_[i].host_inputs->count(); ++t) {
        const float weight = value_at(source.weights, expert * tokens_ + t);
        if (weight == 0) continue;
        if (open == nullptr || static_cast<std::int64_t>(open->tokens.size()) == width_) {
          open = batches_.emplace_back(std::make_unique<Batch>()).get();
          open->source = &source;
        }
        open->tokens.push_back({t, weight});
      }
    }
  }

  // Runs the expert once per batch. A batch with fewer than width_ tokens is padded with zeros.
  Status run_expert(std::size_t pack, const std::string& function) {
    std::vector<exec::BatchItem> items;
    for (const auto& batch : batches_) {
      const TensorView& from = batch->source->x;
      batch->x = Tensor(from.dtype, shape(channels_, width_));
      const MutableTensorView to = batch->x.mutable_view();
      for (std::size_t i = 0; i < batch->tokens.size(); ++i)
        for (std::int64_t c = 0; c < channels_; ++c)
          set_value(to, c * width_ + static_cast<std::int64_t>(i),
                    value_at(from, c * tokens_ + batch->tokens[i].token));
      batch->inputs = {{artifact::kExpertInput, batch->x.view()}};
      items.push_back({&batch->inputs, &batch->outputs, nullptr});
    }
    {
      const ObservedRun run(observer_, experts_.packs[pack].package, function);
      items[0].times = run.times();
      ANEMONE_RETURN_IF_ERROR(packs_[pack]->run_batch(function, items));
    }
    for (const auto& batch : batches_)
      ANEMONE_RETURN_IF_ERROR(checked_output(batch->outputs, function, artifact::kExpertOutput,
                                             shape(channels_, width_))
                                  .status());
    return {};
  }

  void add_outputs() {
    for (const auto& batch : batches_) {
      const TensorView y = exec::find_output(batch->outputs, artifact::kExpertOutput)->view();
      for (std::size_t i = 0; i < batch->tokens.size(); ++i) {
        const auto [token, weight] = batch->tokens[i];
        float* sum = batch->source->sums.data() + token * channels_;
        for (std::int64_t c = 0; c < channels_; ++c)
          sum[c] += weight * value_at(y, c * width_ + static_cast<std::int64_t>(i));
      }
    }
  }

  // Writes the sums to Chunk::experts. The padding after the last token repeats its sum.
  void store() {
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      const Source& source = sources_[i];
      const std::int64_t last = chunks_[i].host_inputs->count() - 1;
      Tensor& out = chunks_[i].outputs->experts;
      if (out.empty() || out.dtype() != source.x.dtype || out.shape() != source.x.shape)
        out = Tensor(source.x.dtype, source.x.shape);
      for (std::int64_t t = 0; t < tokens_; ++t) {
        const float* sum = source.sums.data() + std::min(t, last) * channels_;
        for (std::int64_t c = 0; c < channels_; ++c)
          set_value(out.mutable_view(), c * tokens_ + t, sum[c]);
      }
      chunks_[i].experts = out.view();
    }
  }

  const Model& model_;
  StepObserver* const observer_;  // may be null
  const artifact::Shard& shard_;
  const artifact::Experts& experts_;
  const std::vector<std::shared_ptr<const exec::LoadedProgram>>& packs_;
  const std::size_t index_;
  const std::span<Chunk> chunks_;
  const std::int64_t channels_;
  const std::int64_t tokens_;                    // width of a chunk, padding included
  const std::int64_t width_;                     // tokens that an expert's function takes
  std::vector<Source> sources_;                  // one per chunk
  std::vector<std::unique_ptr<Batch>> batches_;  // of the expert that runs now
};

}  // namespace

Status add_experts(const Model& model, std::size_t shard, std::span<Chunk> chunks,
                   StepObserver* observer) {
  return chunks.empty() ? Status() : RoutedExperts(model, shard, chunks, observer).run();
}

}  // namespace anemone::engine
