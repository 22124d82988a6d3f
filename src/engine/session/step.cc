// SPDX-License-Identifier: Apache-2.0
#include "engine/session/step.h"

#include <utility>

#include "base/error.h"
#include "engine/session/experts.h"

namespace anemone::engine {

Result<TensorView> checked_output(const exec::Outputs& outputs, std::string_view package,
                                  std::string_view name, const Shape& shape) {
  const Tensor* tensor = exec::find_output(outputs, name);
  if (tensor == nullptr)
    return internal_error("[{}] expected output \"{}\", got none", package, name);
  if (tensor->shape() != shape)
    return corrupt("[{}] expected output \"{}\" {}, got {}", package, name, to_string(shape),
                   to_string(tensor->shape()));
  return tensor->view();
}

namespace {

// The masks of a step that are tensors, which are the pool's again when the step is done.
class StepMasks {
 public:
  StepMasks(const FunctionPlan& plan, std::span<const Chunk> chunks) : pool_(*plan.masks) {
    for (const Chunk& chunk : chunks) {
      auto& masks = masks_.emplace_back();
      for (const HostInput& input : plan.host_inputs) {
        auto& mask = masks.emplace_back();
        if (!is_mask(input) || input.is_fact) continue;
        mask = pool_.take(input, chunk.host_inputs->tokens(),
                          chunk.caches->taken_positions(plan.context));
        mask->set(chunk.host_inputs->position(), chunk.host_inputs->count());
      }
    }
  }
  ~StepMasks() {
    for (auto& masks : masks_)
      for (auto& mask : masks)
        if (mask != nullptr) pool_.give(std::move(mask));
  }
  StepMasks(const StepMasks&) = delete;
  StepMasks& operator=(const StepMasks&) = delete;

  // [host input of the function]; null for those that are no such mask.
  const std::vector<std::unique_ptr<DenseMask>>& of(std::size_t chunk) const {
    return masks_[chunk];
  }

 private:
  MaskPool& pool_;
  std::vector<std::vector<std::unique_ptr<DenseMask>>> masks_;  // [chunk]
};

exec::Inputs shard_inputs(const artifact::Shard& shard, const FunctionPlan& plan,
                          const std::vector<int>& ports,
                          const std::vector<std::unique_ptr<DenseMask>>& masks,
                          const Chunk& chunk) {
  exec::Inputs inputs;
  for (std::size_t i = 0; i < shard.inputs.size(); ++i) {
    TensorView view;
    if (ports[i] == FunctionPlan::kHidden)
      view = chunk.hidden;
    else if (ports[i] == FunctionPlan::kExperts)
      view = chunk.experts;
    else if (const auto port = static_cast<std::size_t>(ports[i]); plan.host_inputs[port].is_fact)
      continue;
    else
      view = masks[port] != nullptr ? masks[port]->view() : chunk.host_inputs->view(port);
    inputs.push_back({shard.inputs[i].name, view});
  }
  return inputs;
}

// Checks what the heads of a package gave for `tokens` tokens.
Status check_head_outputs(const artifact::Manifest& manifest, std::span<const artifact::Head> heads,
                          std::int64_t tokens, const exec::Outputs& outputs) {
  const auto check = [&](const artifact::Head& head, const std::string& output,
                         std::int64_t columns) {
    return checked_output(outputs, head.package, output,
                          manifest.form.logits_shape(columns, tokens))
        .status();
  };
  for (const artifact::Head& head : heads) {
    ANEMONE_RETURN_IF_ERROR(check(head, head.output, head.columns()));
    if (!head.argmax.empty()) ANEMONE_RETURN_IF_ERROR(check(head, head.argmax, 1));
  }
  return {};
}

}  // namespace

StepOutputs make_outputs(const Model& model) {
  StepOutputs outputs;
  outputs.shards.resize(model.manifest().shards.size());
  outputs.heads.resize(model.head_packages().size());
  return outputs;
}

Status run_shards(const Model& model, const FunctionPlan& plan, std::span<Chunk> chunks,
                  const std::function<void()>* meanwhile, StepObserver* observer) {
  const artifact::Manifest& manifest = model.manifest();
  const StepMasks masks(plan, chunks);
  for (std::size_t s = 0; s < manifest.shards.size(); ++s) {
    const artifact::Shard& shard = manifest.shards[s];
    // Every other shard gives what the next package of the step takes.
    const bool feeds_heads = s + 1 == manifest.shards.size() && !shard.experts;
    const auto is_read = [&](const Chunk& chunk) { return !feeds_heads || chunk.is_read; };
    std::vector<exec::Inputs> inputs;
    std::vector<exec::StepFacts> facts;
    std::vector<std::vector<exec::CacheBinding>> caches;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      const Chunk& chunk = chunks[i];
      const StepInputs& step = *chunk.host_inputs;
      inputs.push_back(shard_inputs(shard, plan, plan.ports[s], masks.of(i), chunk));
      facts.push_back({step.position(), step.count(), step.tokens(), plan.facts[s]});
      caches.push_back(chunk.caches->bindings(s, step.position(), step.count()));
    }
    std::vector<exec::BatchItem> items;
    for (std::size_t i = 0; i < chunks.size(); ++i)
      items.push_back({.inputs = &inputs[i],
                       .outputs = &chunks[i].outputs->shards[s],
                       .states = chunks[i].caches->states(s),
                       .facts = &facts[i],
                       .caches = caches[i],
                       .meanwhile = i == 0 ? meanwhile : nullptr,
                       .wants_outputs = is_read(chunks[i])});
    {
      const ObservedRun run(observer, shard.package, plan.function->name);
      items[0].times = run.times();
      const Status status = model.shard(s).run_batch(plan.function->name, items);
      if (!status.ok()) return status.with(shard.package);
    }
    for (Chunk& chunk : chunks) {
      chunk.hidden = {};
      if (!is_read(chunk)) continue;
      const exec::Outputs& outputs = chunk.outputs->shards[s];
      ANEMONE_ASSIGN_OR_RETURN(
          chunk.hidden, checked_output(outputs, shard.package, shard.output,
                                       artifact::hidden_shape(manifest.form.layout,
                                                              manifest.hidden_size + shard.carried,
                                                              chunk.host_inputs->tokens())));
    }
    if (shard.experts) ANEMONE_RETURN_IF_ERROR(add_experts(model, s, chunks, observer));
  }
  if (manifest.has_head_inside())
    for (const Chunk& chunk : chunks)
      if (chunk.is_read)
        ANEMONE_RETURN_IF_ERROR(check_head_outputs(
            manifest, manifest.heads, chunk.host_inputs->tokens(), chunk.outputs->shards.back()));
  for (const Chunk& chunk : chunks)
    chunk.caches->append(chunk.host_inputs->position(), chunk.host_inputs->count());
  return {};
}

const exec::Outputs& head_outputs(const Model& model, const artifact::Head& head,
                                  const StepOutputs& outputs) {
  for (std::size_t p = 0; p < outputs.heads.size(); ++p)
    if (model.head_packages()[p].front().package == head.package) return outputs.heads[p];
  return outputs.shards.back();
}

Status run_heads(const Model& model, const std::string& function, std::int64_t tokens,
                 std::span<const Chunk> chunks, StepObserver* observer) {
  const artifact::Manifest& manifest = model.manifest();
  for (std::size_t p = 0; p < model.head_packages().size(); ++p) {
    const std::span<const artifact::Head> heads = model.head_packages()[p];
    const std::string& package = heads.front().package;
    std::vector<exec::Inputs> inputs;
    for (const Chunk& chunk : chunks) inputs.push_back({{heads.front().input, chunk.hidden}});
    std::vector<exec::BatchItem> items;
    for (std::size_t i = 0; i < chunks.size(); ++i)
      items.push_back({&inputs[i], &chunks[i].outputs->heads[p], nullptr});
    {
      const ObservedRun run(observer, package, function);
      items[0].times = run.times();
      const Status status = model.head_program(p).run_batch(function, items);
      if (!status.ok()) return status.with(package);
    }
    for (const Chunk& chunk : chunks)
      ANEMONE_RETURN_IF_ERROR(check_head_outputs(manifest, heads, tokens, chunk.outputs->heads[p]));
  }
  return {};
}

Status run_embed(const Model& model, const std::string& function, std::int64_t tokens,
                 std::span<const Chunk> chunks) {
  const artifact::Manifest& manifest = model.manifest();
  const artifact::Embed& embed = *manifest.embed;
  std::vector<exec::Inputs> inputs;
  for (const Chunk& chunk : chunks) inputs.push_back({{embed.input, chunk.hidden}});
  std::vector<exec::BatchItem> items;
  for (std::size_t i = 0; i < chunks.size(); ++i)
    items.push_back({&inputs[i], &chunks[i].outputs->embed, nullptr});
  const Status status = model.embed_program()->run_batch(function, items);
  if (!status.ok()) return status.with(embed.package);
  for (const Chunk& chunk : chunks)
    ANEMONE_RETURN_IF_ERROR(
        checked_output(chunk.outputs->embed, embed.package, embed.output,
                       artifact::hidden_shape(manifest.form.layout, manifest.hidden_size, tokens))
            .status());
  return {};
}

}  // namespace anemone::engine
