// SPDX-License-Identifier: Apache-2.0
#include "bench/model_cost.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "exec/profile.h"

namespace anemone::bench {
namespace {

double as_double(std::int64_t value) {
  return static_cast<double>(value);
}

double seconds_of(const Flops& flops, const MachineRates& rates) {
  double seconds = 0;
  if (flops.int8 > 0) seconds += flops.int8 / (rates.int8_tops * 1e12);
  if (flops.other > 0) seconds += flops.other / (rates.bf16_tflops * 1e12);
  return seconds;
}

// Adds one package. Attention is what multiplies no weights.
Status add(const exec::LoadedProgram& program, const std::string& function, std::int64_t context,
           exec::ExpertsOfLayers& experts, std::int64_t& bytes, Flops& flops, double& attention) {
  ANEMONE_ASSIGN_OR_RETURN(auto steps, exec::explain(program, function));
  for (exec::PlanStep& step : steps) {
    experts.apply(step);
    bytes += step.weight_bytes;
    if (step.weight_bytes == 0)
      attention += as_double(step.flops) / as_double(std::max<std::int64_t>(1, context));
    else if (step.form.starts_with("int8"))
      flops.int8 += as_double(step.flops);
    else
      flops.other += as_double(step.flops);
  }
  return {};
}

}  // namespace

Flops& Flops::operator+=(const Flops& more) {
  int8 += more.int8;
  other += more.other;
  return *this;
}

double ModelCost::step_bytes(std::int64_t streams, double depth) const {
  return as_double(weight_bytes) + as_double(streams) * kv_bytes * (depth + 1);
}

double ModelCost::prefill_bytes(std::int64_t tokens, double depth) const {
  return as_double(weight_bytes) + kv_bytes * (depth + as_double(tokens));
}

double ModelCost::decode_limit(const MachineRates& rates, std::int64_t streams,
                               double depth) const {
  const double count = as_double(streams);
  Flops flops = layers;
  flops += heads;
  flops.other += attention_flops * (depth + 1);
  const double seconds = std::max(step_bytes(streams, depth) / (rates.read_gb_s * 1e9),
                                  seconds_of(flops * count, rates));
  return seconds > 0 ? count / seconds : 0;
}

double ModelCost::prefill_limit(const MachineRates& rates, std::int64_t tokens,
                                double depth) const {
  const double count = as_double(tokens);
  Flops flops = layers * count;
  flops += heads;
  // Token t attends to depth + t + 1 tokens.
  flops.other += attention_flops * count * (depth + (count + 1) / 2);
  const double seconds =
      std::max(prefill_bytes(tokens, depth) / (rates.read_gb_s * 1e9), seconds_of(flops, rates));
  return seconds > 0 ? count / seconds : 0;
}

const engine::FunctionPlan& decode_plan(const engine::Model& model) {
  return *std::ranges::min_element(model.functions(), {}, [](const engine::FunctionPlan& plan) {
    const std::int64_t tokens = plan.function->is_flexible ? 1 : plan.function->tokens;
    return std::tuple(tokens, plan.context, plan.function->tokens);
  });
}

const engine::FunctionPlan& prefill_plan(const engine::Model& model) {
  return *std::ranges::max_element(model.functions(), {}, [](const engine::FunctionPlan& plan) {
    return std::tuple(plan.function->tokens, plan.context);
  });
}

Result<ModelCost> cost_of(const engine::Model& model) {
  const artifact::Manifest& manifest = model.manifest();
  const engine::FunctionPlan& plan = decode_plan(model);
  ModelCost out;
  exec::ExpertsOfLayers experts_of_layers;
  for (std::size_t s = 0; s < manifest.shards.size(); ++s) {
    ANEMONE_RETURN_IF_ERROR(add(model.shard(s), plan.function->name, plan.context,
                                experts_of_layers, out.weight_bytes, out.layers,
                                out.attention_flops));
    if (const auto& experts = manifest.shards[s].experts) {
      std::int64_t bytes = 0;
      Flops flops;
      double none = 0;
      ANEMONE_RETURN_IF_ERROR(add(*model.expert_packs(s).front(),
                                  artifact::expert_function(0, experts->width_for(1)), 1,
                                  experts_of_layers, bytes, flops, none));
      out.weight_bytes += experts->active * bytes;
      out.layers += flops * as_double(experts->active);
    }
    for (const artifact::Cache& cache : manifest.shards[s].caches)
      out.kv_bytes += as_double(static_cast<std::int64_t>(dtype_bytes(
                          cache.dtype, static_cast<std::uint64_t>(element_count(cache.shape))))) /
                      as_double(cache.is_recurrent ? manifest.context : cache.positions());
  }
  double none = 0;
  for (std::size_t p = 0; p < model.head_packages().size(); ++p)
    ANEMONE_RETURN_IF_ERROR(add(model.head_program(p), plan.head_function, 1, experts_of_layers,
                                out.head_bytes, out.heads, none));
  out.weight_bytes += out.head_bytes;
  return out;
}

}  // namespace anemone::bench
