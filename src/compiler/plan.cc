// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan.h"

#include <algorithm>

#include "ane/limits.h"
#include "base/error.h"
#include "compiler/weight_store.h"
#include "models/decoder_graph.h"

namespace anemone::compiler {
namespace {

using models::DecoderConfig;

// Stored bytes of the projections of each layer, by building its graph, of the
// smallest function that there can be; norms and biases are noise.
Result<std::vector<std::uint64_t>> layer_bytes(const checkpoint::Checkpoint& checkpoint,
                                               const Plan& plan) {
  const CompileOptions& options = plan.options;
  const models::GraphOptions graph = {.dtype = options.precision,
                                      .tokens = 1,
                                      .context = 1,
                                      .cache_context = 1,
                                      .layout = options.layout};
  // Layers of one kind are of one size, but where their sizes are those of the checkpoint.
  const bool is_kept = options.recipe.quant.scheme == quant::Scheme::kKeep;
  const std::vector<models::LayerConfig>& layers = plan.config.layers;
  std::vector<std::uint64_t> bytes;
  for (std::int64_t layer = 0; layer < plan.config.num_layers(); ++layer) {
    const auto like = std::ranges::find(layers, plan.config.layer(layer)) - layers.begin();
    if (like < layer && !is_kept) {
      bytes.push_back(bytes[static_cast<std::size_t>(like)]);
      continue;
    }
    WeightStore weights(checkpoint.weights, options.recipe, options.precision);
    ir::Program program;
    ANEMONE_RETURN_IF_ERROR(models::build_layers(program, "layer", *plan.architecture, plan.config,
                                                 layer, layer + 1, weights, graph)
                                .status());
    std::uint64_t sum = 0;
    for (const WeightReport& report : weights.reports()) sum += report.bytes;
    bytes.push_back(sum);
  }
  return bytes;
}

void clamp_sizes(const DecoderConfig& config, Plan& plan) {
  CompileOptions& options = plan.options;
  if (options.context == 0) {
    options.context =
        std::min(config.classifies() ? kDefaultTextLength : kDefaultContext, config.max_position);
  } else if (options.context > config.max_position) {
    plan.notes.push_back(fmt::format("context {} is more than the model's {}: clamped",
                                     options.context, config.max_position));
    options.context = config.max_position;
  }
  if (options.prefill > options.context && !config.classifies()) {
    plan.notes.push_back(fmt::format("prefill {} is more than the context {}: clamped",
                                     options.prefill, options.context));
    options.prefill = options.context;
  }
  std::ranges::sort(options.tiers);
  options.tiers.erase(std::unique(options.tiers.begin(), options.tiers.end()), options.tiers.end());
  std::erase_if(options.tiers, [&](std::int64_t tier) {
    if (tier < options.context) return false;
    plan.notes.push_back(
        fmt::format("the tier {} is not below the context {}: left out", tier, options.context));
    return true;
  });
}

// What the functions of the whole context are called and how many tokens they take.
std::vector<artifact::Function> widths(Plan& plan) {
  const CompileOptions& options = plan.options;
  std::vector<artifact::Function> functions = {{.name = "decode"}};
  const bool has_verify = options.verify > 1 && options.verify < options.prefill;
  if (options.verify != 0 && (!has_verify || options.range_dim))
    plan.notes.push_back(
        options.range_dim
            ? fmt::format("the function takes any number of tokens: verify {} left out",
                          options.verify)
            : fmt::format("verify {} is not between decode and prefill {}: left out",
                          options.verify, options.prefill));
  if (options.range_dim && options.prefill > 1) {
    functions.front().tokens = options.prefill;
    functions.front().is_flexible = true;
    return functions;
  }
  if (has_verify) functions.push_back({.name = "verify", .tokens = options.verify});
  if (options.prefill > 1) functions.push_back({.name = "prefill", .tokens = options.prefill});
  return functions;
}

// A model that classifies sees a text as a whole: a function for each length.
void plan_lengths(Plan& plan) {
  std::vector<std::int64_t> lengths = plan.options.tiers;
  lengths.push_back(plan.options.context);
  for (const std::int64_t length : lengths)
    plan.functions.push_back(
        {.name = fmt::format("classify_{}", length), .tokens = length, .context = length});
  std::ranges::reverse(plan.functions);  // the default one takes every text that any takes
}

void plan_functions(Plan& plan) {
  if (plan.config.classifies()) return plan_lengths(plan);
  plan.functions = widths(plan);
  const std::vector<artifact::Function> whole = plan.functions;
  for (const std::int64_t tier : plan.options.tiers)
    for (artifact::Function function : whole) {
      if (function.tokens > tier) {
        plan.notes.push_back(fmt::format("{} takes {} tokens, more than the tier {}: left out",
                                         function.name, function.tokens, tier));
        continue;
      }
      function.name += fmt::format("_{}", tier);
      function.context = tier;
      plan.functions.push_back(std::move(function));
    }
}

// The dimensions of every graph tensor must stay countable, whatever config.json says.
Status check_sizes(const DecoderConfig& config, const std::string& subject) {
  constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
  std::int64_t head_dim = config.head_dim;
  std::int64_t widest = std::max({config.vocab_size, config.intermediate_size * 2,
                                  config.experts.width * 2, config.experts.shared_width * 2});
  for (const models::LayerConfig& layer : config.layers) {
    head_dim = std::max(head_dim, config.head_dim_of(layer));
    widest = std::max({widest, config.mlp_width_of(layer) * 2,
                       2 * (config.num_heads + config.kv_heads_of(layer)) * head_dim});
  }
  const models::DeltaNetConfig& net = config.delta_net;
  widest = std::max(widest, 2 * (net.key_heads * net.key_dim + net.value_heads * net.value_dim));
  if (config.num_heads > (1 << 20) || head_dim > (1 << 20) ||
      config.hidden_size > kMaxElements / widest)
    return parse_error(
        "[{}] the sizes are too large: hidden_size {}, {} heads of {}, vocab_size {}", subject,
        config.hidden_size, config.num_heads, head_dim, config.vocab_size);
  return {};
}

// Numbers that were rounded once are not rounded again unless it is asked for.
void resolve_recipe(const checkpoint::WeightSource& weights, Plan& plan) {
  Recipe& recipe = plan.options.recipe;
  if (!recipe.is_auto) return;
  recipe.is_auto = false;
  for (const checkpoint::WeightRef* weight : weights.all())
    if (weight->decoder != nullptr && weight->decoder->is_quantized()) {
      recipe.quant.scheme = quant::Scheme::kKeep;
      return;
    }
}

}  // namespace

Result<Plan> make_plan(const checkpoint::Checkpoint& checkpoint, const CompileOptions& options) {
  Plan plan;
  plan.options = options;
  const checkpoint::HfConfig& json = checkpoint.config;
  auto architecture = models::find_architecture(json.model_type());
  if (!architecture.ok()) return architecture.status().with(json.subject());
  plan.architecture = *architecture;
  const auto quantization = json.quantization();
  if (quantization && *quantization != "mxfp4" && *quantization != "fp8")
    return unsupported(
        "[{}] expected plain float weights, mxfp4 or fp8, got a quantization_config of {}",
        json.subject(), *quantization);
  ANEMONE_ASSIGN_OR_RETURN(plan.config, plan.architecture->read_config(json));
  const DecoderConfig& config = plan.config;
  ANEMONE_RETURN_IF_ERROR(check_sizes(config, json.subject()));
  if (config.classifies() && (options.argmax || options.range_dim))
    return unsupported("[{}] expected no {} for a model that labels tokens", json.subject(),
                       options.argmax ? "--argmax" : "--range-dim");
  resolve_recipe(*checkpoint.weights, plan);
  clamp_sizes(config, plan);
  if (options.range_dim && std::ranges::any_of(config.layers, &models::LayerConfig::is_delta_net)) {
    plan.options.range_dim = false;
    plan.notes.push_back("linear attention takes a fixed number of tokens: --range-dim left out");
  }
  plan_functions(plan);

  plan.embedding_tensor = "model.embed_tokens.weight";
  // transformers ties only what the file does not hold twice.
  plan.head_tensor = config.tensors.head + ".weight";
  if (config.tie_word_embeddings) {
    if (checkpoint.weights->find(plan.head_tensor) == nullptr)
      plan.head_tensor = plan.embedding_tensor;
  } else if (checkpoint.weights->expect(plan.head_tensor,
                                        {config.num_logits(), config.hidden_size}) == nullptr) {
    return not_found("[{}] expected a tensor {} (tie_word_embeddings is false), got none",
                     checkpoint.weights->origin(), plan.head_tensor);
  }
  if (!checkpoint.has_weights)
    plan.notes.push_back("no weights are there: planned from config.json");

  ANEMONE_ASSIGN_OR_RETURN(plan.layer_bytes, layer_bytes(checkpoint, plan));
  ANEMONE_ASSIGN_OR_RETURN(plan.layer_shards,
                           ane::plan_layer_shards(options.shards, plan.layer_bytes));
  const auto heaviest = std::ranges::max_element(plan.layer_bytes);
  if (options.shards == "auto" && *heaviest > ane::kShardBytes)
    plan.notes.push_back(fmt::format(
        "layer {} alone takes {} MB, more than the {} MB that the chip is known to take: "
        "fewer bits (--quant lut4) make it smaller",
        heaviest - plan.layer_bytes.begin(), *heaviest / 1'000'000, ane::kShardBytes / 1'000'000));
  plan.head_bytes = quant::stored_bytes(options.recipe.options_for(models::WeightRole::kHead),
                                        config.num_logits(), config.hidden_size, options.precision);
  const auto head_rows = static_cast<std::uint64_t>(config.num_logits());
  plan.head_shards =
      ane::plan_head_shards(config.num_logits(), (plan.head_bytes + head_rows - 1) / head_rows);
  const bool is_head_float =
      quant::stays_float(options.recipe.options_for(models::WeightRole::kHead),
                         plan.head_shards.front().end * config.hidden_size);
  if (plan.head_tensor != plan.embedding_tensor || !is_head_float)
    plan.embedding_bytes = dtype_bytes(
        options.precision, static_cast<std::uint64_t>(config.vocab_size * config.hidden_size));
  plan.layer_embedding_columns = config.layer_embedding_size * config.num_layers();
  plan.layer_embedding_bytes =
      dtype_bytes(options.precision,
                  static_cast<std::uint64_t>(config.vocab_size * plan.layer_embedding_columns));
  return plan;
}

}  // namespace anemone::compiler
