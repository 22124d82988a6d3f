// SPDX-License-Identifier: Apache-2.0
#include "compiler/description.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/digest.h"
#include "base/error.h"
#include "base/path.h"
#include "base/version.h"
#include "ir/opset.h"

namespace anemone::compiler {
namespace {

bool is_token_id(std::int64_t id) {
  return id >= 0 && id <= std::numeric_limits<std::int32_t>::max();
}

// generation_config.json wins over config.json, as in transformers' generate().
std::vector<std::int32_t> eos_ids(const checkpoint::Checkpoint& checkpoint,
                                  const models::DecoderConfig& config) {
  std::vector<std::int32_t> ids;
  const auto keep = [&](std::int64_t id) {
    if (is_token_id(id)) ids.push_back(static_cast<std::int32_t>(id));
  };
  if (const Json* eos = json_member(*checkpoint.generation, "eos_token_id")) {
    if (eos->is_number_integer()) keep(eos->get<std::int64_t>());
    if (eos->is_array())
      for (const Json& id : *eos)
        if (id.is_number_integer()) keep(id.get<std::int64_t>());
  }
  if (ids.empty())
    for (const std::int64_t id : config.eos_ids) keep(id);
  return ids;
}

Json generation_defaults(const checkpoint::Checkpoint& checkpoint) {
  Json defaults = Json::object();
  for (const char* key : {"do_sample", "temperature", "top_p", "top_k", "min_p",
                          "repetition_penalty", "no_repeat_ngram_size"})
    if (const Json* value = json_member(*checkpoint.generation, key)) defaults[key] = *value;
  return defaults;
}

// The sizes that open axis `i` of an input may have.
mlpackage::DimensionRange sizes_of(const OpenAxes& axes, const ir::Value& input, std::size_t i) {
  if (const auto past = axes.pasts.find(input.name); past != axes.pasts.end()) {
    // A mask has the tokens of the step after the past, and a row for each of them.
    const std::int64_t tokens = i == 3 ? input.type.shape[2] : 0;
    return {tokens + 1, tokens + past->second};
  }
  const auto tail = axes.tails.find(input.name);
  const std::int64_t before = tail == axes.tails.end() ? 0 : tail->second;
  return {before + 1, before + axes.tokens};
}

std::map<std::string, mlpackage::FlexibleShape> flexible_shapes(const ir::Function& function,
                                                                const OpenAxes& axes) {
  std::map<std::string, mlpackage::FlexibleShape> shapes;
  for (const ir::Value* input : function.inputs) {
    if (is_static(input->type.shape)) continue;
    mlpackage::FlexibleShape& shape = shapes[input->name];
    for (std::size_t i = 0; i < input->type.shape.size(); ++i) {
      const std::int64_t size = input->type.shape[i];
      const mlpackage::DimensionRange sizes =
          size == kDynamic ? sizes_of(axes, *input, i) : mlpackage::DimensionRange{size, size};
      shape.default_shape.push_back(sizes.lower);
      shape.flexibility.ranges.push_back(sizes);
    }
  }
  return shapes;
}

}  // namespace

artifact::Manifest describe_model(const checkpoint::Checkpoint& checkpoint, const CompilePlan& plan,
                                  std::vector<std::string>& notes) {
  const models::DecoderConfig& config = plan.config;
  artifact::Manifest manifest;
  manifest.producer = std::string("anemone ") + std::string(version());
  manifest.model_type = plan.architecture->model_type;
  manifest.name = plan.options.name.empty() ? last_name(checkpoint.path) : plan.options.name;
  manifest.precision = dtype_name(plan.options.precision);
  manifest.quantization = plan.options.recipe.description();
  manifest.target = ir::opset_target(plan.options.target);
  manifest.vocab_size = config.num_logits();
  manifest.labels = config.labels;
  manifest.hidden_size = config.hidden_size;
  manifest.layers = config.num_layers();
  manifest.context = plan.options.context;
  manifest.max_position = config.max_position;
  manifest.form = plan.options.form;
  manifest.ropes = config.ropes;
  manifest.functions = plan.functions;
  manifest.eos_ids = eos_ids(checkpoint, config);
  if (config.bos_id && is_token_id(*config.bos_id))
    manifest.bos_id = static_cast<std::int32_t>(*config.bos_id);
  Json generation = generation_defaults(checkpoint);
  if (plan.options.form.has_argmax() && !generation.empty())
    notes.push_back("the sampling defaults of generation_config.json are left out: --argmax");
  else
    manifest.generation = std::move(generation);
  return manifest;
}

ExpertsReport describe_experts(const CompilePlan& plan) {
  const models::ExpertsConfig& experts = plan.config.experts;
  ExpertsReport out = {.form = plan.options.form.experts,
                       .layers = plan.expert_layers,
                       .count = experts.count,
                       .active = experts.active,
                       .bytes_per_token = plan.expert_bytes};
  for (const LayerShard& shard : plan.layer_shards) out.packages += shard.packs.size();
  if (out.form == artifact::ExpertsForm::kDense) {
    out.packages = plan.layer_shards.size();
    return out;
  }
  out.functions = out.layers * out.count * static_cast<std::int64_t>(plan.expert_widths.size());
  out.bytes_per_token = plan.expert_bytes / static_cast<std::uint64_t>(out.count) *
                        static_cast<std::uint64_t>(out.active);
  out.runs = out.active;
  out.host_crossings = 2;
  return out;
}

void OpenAxes::add(const artifact::Form& form, const artifact::Shard& shard, std::int64_t context) {
  for (const artifact::Port& port : shard.inputs) {
    if (port.tail != 0) tails[port.name] = port.tail;
    if (form.has_growing_caches() && port.role == artifact::PortRole::kAttentionMaskPastAndStep)
      pasts[port.name] = artifact::past_positions(form.past, context, port.window);
  }
  for (const artifact::Cache& cache : shard.caches)
    if (form.has_growing_caches() && cache.is_appended)
      pasts[cache.name] = artifact::past_positions(form.past, context, cache.window);
}

Status describe_package(std::string text, const OpenAxes& axes, mlpackage::Model& model) {
  // From iOS 18 on functions have names of their own, even when there is one.
  model.is_multifunction = model.program.functions().front()->opset >= ir::Opset::kIOS18;
  model.default_function = model.program.functions().front()->name;
  model.metadata.short_description = std::move(text);
  for (const ir::Function* function : model.program.functions()) {
    ANEMONE_ASSIGN_OR_RETURN(
        auto interface, mlpackage::describe_function(*function, flexible_shapes(*function, axes)));
    model.functions.push_back(std::move(interface));
  }
  return {};
}

std::string fingerprint(const checkpoint::Checkpoint& checkpoint, const CompilePlan& plan,
                        const SourceFiles& source) {
  std::vector<std::string> ignored;
  Digest hash;
  hash.update(dump_json(artifact::to_json(describe_model(checkpoint, plan, ignored))));
  hash.update(describe_options(plan.options));
  hash.update(plan.options.name);
  hash.update(source.text());
  return hash.hex();
}

}  // namespace anemone::compiler
