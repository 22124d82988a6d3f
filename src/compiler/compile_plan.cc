// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile_plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ane/limits.h"
#include "base/error.h"
#include "compiler/layer_plan.h"
#include "compiler/target.h"
#include "compiler/weight_store.h"
#include "models/decoder_graph.h"

namespace anemone::compiler {
namespace {

using models::DecoderConfig;

void clamp_sizes(const DecoderConfig& config, CompilePlan& plan) {
  CompileOptions& options = plan.options;
  if (options.context == 0) {
    options.context =
        std::min(config.classifies() ? kDefaultTextLength : kDefaultContext, config.max_position);
  } else if (options.context > config.max_position) {
    plan.notes.push_back(fmt::format("context {} is more than the model's {}: clamped",
                                     options.context, config.max_position));
    options.context = config.max_position;
  }
  // A delta net has operations for each token: those of 64 would fill a package with a few layers.
  const bool has_delta_nets =
      std::ranges::any_of(config.layers, &models::LayerConfig::is_delta_net);
  if (options.prefill == 0)
    options.prefill =
        has_delta_nets && options.form.has_bounded_packages() ? kDeltaNetPrefill : kDefaultPrefill;
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
std::vector<artifact::Function> widths(CompilePlan& plan) {
  const CompileOptions& options = plan.options;
  std::vector<artifact::Function> functions = {{.name = "decode"}};
  const bool has_verify = options.draft_width > 1 && options.draft_width < options.prefill;
  if (options.draft_width != 0 && (!has_verify || options.range_dim))
    plan.notes.push_back(
        options.range_dim
            ? fmt::format("the function takes any number of tokens: draft width {} left out",
                          options.draft_width)
            : fmt::format("draft width {} is not between decode and prefill {}: left out",
                          options.draft_width, options.prefill));
  if (options.range_dim && options.prefill > 1) {
    functions.front().tokens = options.prefill;
    functions.front().is_flexible = true;
    return functions;
  }
  if (has_verify) functions.push_back({.name = "verify", .tokens = options.draft_width});
  if (options.prefill > 1) functions.push_back({.name = "prefill", .tokens = options.prefill});
  return functions;
}

// A classifier takes a text as a whole: it gets a function per length.
void plan_lengths(CompilePlan& plan) {
  std::vector<std::int64_t> lengths = plan.options.tiers;
  lengths.push_back(plan.options.context);
  for (const std::int64_t length : lengths)
    plan.functions.push_back(
        {.name = fmt::format("classify_{}", length), .tokens = length, .context = length});
  std::ranges::reverse(plan.functions);  // the default one takes every text that any takes
}

void plan_functions(CompilePlan& plan) {
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

// "compressed-tensors (nvfp4-pack-quantized)", "modelopt (NVFP4)": a method writes several forms.
std::string quantization_text(const checkpoint::HfConfig& config) {
  std::string text = config.quantization().value_or("none");
  for (const char* key : {"format", "quant_algo"}) {
    const Json* form = json_member(config.json()["quantization_config"], key);
    if (form != nullptr && form->is_string())
      text += fmt::format(" ({})", form->get_ref<const std::string&>());
  }
  return text;
}

// Without quantized matrices there are no bits to keep.
void resolve_recipe(const checkpoint::Checkpoint& checkpoint, CompilePlan& plan) {
  bool& keeps_bits = plan.options.recipe.quant.keeps_bits;
  // What is only planned has no tensors yet.
  const bool is_planned_so = !checkpoint.has_weights && checkpoint.config.quantization() == "mxfp4";
  keeps_bits =
      keeps_bits && (is_planned_so || std::ranges::any_of(checkpoint.weights->all(),
                                                          [](const checkpoint::WeightRef* weight) {
                                                            return weight->is_quantized();
                                                          }));
}

// What a table of embeddings takes in a file of its own.
Result<std::uint64_t> table_bytes(const WeightStore& weights, const std::string& tensor,
                                  const Shape& shape, const CompileOptions& options) {
  if (!options.form.has_stored_embedding())
    return dtype_bytes(options.precision, static_cast<std::uint64_t>(shape[0] * shape[1]));
  ANEMONE_ASSIGN_OR_RETURN(const quant::StoredWeight table,
                           weights.embedding_rows(tensor, shape, 0, shape[0]));
  return table.bytes;
}

// Tells whether the embeddings can be read from the rows of the heads, because both are one matrix
// in one scheme. Adds a note where only the scheme differs.
Result<bool> shares_rows_of_head(const WeightStore& weights, const quant::StoredWeight& head,
                                 CompilePlan& plan) {
  if (plan.head_tensor != plan.embedding_tensor) return false;
  const Recipe& recipe = plan.options.recipe;
  if (!recipe.has_embedding_scheme()) {
    const bool is_head_float =
        quant::stays_float(recipe.options_for(models::WeightRole::kHead),
                           plan.head_packages.front().front().end * plan.config.hidden_size);
    return is_head_float || plan.options.form.has_stored_embedding();
  }
  const std::int64_t rows = plan.config.vocab_size;
  ANEMONE_ASSIGN_OR_RETURN(
      const quant::StoredWeight table,
      weights.embedding_rows(plan.embedding_tensor, {rows, plan.config.hidden_size}, 0, rows));
  if (table.scheme == head.scheme && table.is_passthrough == head.is_passthrough) return true;
  plan.notes.push_back(
      fmt::format("the embedding is the matrix of the head, which is stored as {}: as {} it takes "
                  "a file of its own",
                  quant::scheme_name(head.scheme), quant::scheme_name(table.scheme)));
  return false;
}

}  // namespace

models::GraphOptions CompilePlan::graph_options(const artifact::Function& function) const {
  models::GraphOptions graph = {
      .opset = options.target,
      .dtype = options.precision,
      .tokens = function.is_flexible ? kDynamic : function.tokens,
      .context = function.context == 0 ? options.context : function.context,
      .cache_context = options.context,
      .caches_are_states = options.precision == DType::kFp16 && options.target >= ir::Opset::kIOS18,
      .form = options.form,
      .max_axis = options.form.has_split_projections() ? ane::kMaxChannels : 0,
      .is_slow_product = is_slow_product()};
  for (const artifact::Function& each : functions)
    graph.widest_step = std::max(graph.widest_step, each.tokens);
  return graph;
}

Result<CompilePlan> make_compile_plan(const checkpoint::Checkpoint& checkpoint,
                                      const CompileOptions& options) {
  CompilePlan plan;
  plan.options = options;
  plan.notes = checkpoint.notes;
  const checkpoint::HfConfig& json = checkpoint.config;
  auto architecture = models::find_architecture(json.model_type());
  if (!architecture.ok()) return architecture.status().with(json.subject());
  plan.architecture = *architecture;
  const auto quantization = json.quantization();
  if (quantization && *quantization != "mxfp4" && *quantization != "fp8" &&
      *quantization != "nvfp4")
    return unsupported(
        "[{}] expected plain float weights, mxfp4, nvfp4 or fp8, got a quantization_config of {}: "
        "take the checkpoint that it was made from, or a GGUF file",
        json.subject(), quantization_text(json));
  ANEMONE_ASSIGN_OR_RETURN(plan.config, plan.architecture->read_config(json));
  const DecoderConfig& config = plan.config;
  ANEMONE_RETURN_IF_ERROR(check_sizes(config, json.subject()));
  if (config.classifies() && (options.form.has_argmax() || options.range_dim))
    return unsupported("[{}] expected no {} for a model that labels tokens", json.subject(),
                       options.form.has_argmax() ? "--argmax" : "--range-dim");
  resolve_recipe(checkpoint, plan);
  // A scheme for the embedding asks for rows in that scheme, whatever the form says of them.
  const auto own_scheme = options.recipe.by_role.find(models::WeightRole::kEmbedding);
  if (own_scheme != options.recipe.by_role.end() && own_scheme->second != quant::Scheme::kNone)
    plan.options.form.embedding = artifact::EmbeddingForm::kStored;
  clamp_sizes(config, plan);
  if (options.range_dim && std::ranges::any_of(config.layers, &models::LayerConfig::is_delta_net)) {
    plan.options.range_dim = false;
    plan.notes.push_back("a gated delta net takes a fixed number of tokens: --range-dim left out");
  }
  // The scores of a step's tokens stand behind those of the past, or its rows end at a position, in
  // so many columns.
  if (plan.options.range_dim && options.form.cache != artifact::CacheForm::kBlend)
    return invalid_argument(
        "[--range-dim] expected caches that packages blend (--kv-form blend), got {}, which takes "
        "a fixed number of tokens",
        artifact::cache_form_name(options.form.cache));
  if (options.form.has_growing_caches() && !config.classifies() && !options.tiers.empty())
    return invalid_argument(
        "[--context] expected one context for --kv-form growing, which takes no more of a cache "
        "than there is, got {} more",
        options.tiers.size());
  ANEMONE_RETURN_IF_ERROR(fit_to_target(plan));
  plan_functions(plan);
  // The only name that a package without several functions knows.
  if (plan.options.target < ir::Opset::kIOS18) plan.functions.front().name = "main";

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
    plan.notes.push_back("there are no weights: planned from config.json alone");

  ANEMONE_RETURN_IF_ERROR(plan_layers(checkpoint, plan));
  // The size as stored: with kPassthrough it depends on the form in the checkpoint.
  const Recipe& recipe = plan.options.recipe;
  WeightStore weights(checkpoint.weights, recipe, options.precision);
  ANEMONE_ASSIGN_OR_RETURN(const quant::StoredWeight* head,
                           weights.stored({.name = "head",
                                           .role = models::WeightRole::kHead,
                                           .parts = {{plan.head_tensor, 0, config.num_logits()}},
                                           .inputs = config.hidden_size}));
  plan.head_bytes = head->bytes;
  note_exceeded_limits(plan);
  const auto head_rows = static_cast<std::uint64_t>(config.num_logits());
  std::function<bool(std::int64_t)> is_slow;
  if (plan.is_slow_product() != nullptr && head->scheme == quant::Scheme::kNone)
    is_slow = [&](std::int64_t rows) { return ane::is_slow_product(rows, config.hidden_size); };
  ANEMONE_ASSIGN_OR_RETURN(
      plan.head_packages,
      ane::plan_heads(options.form.head_outputs, config.num_logits(),
                      (plan.head_bytes + head_rows - 1) / head_rows, is_slow,
                      options.packages.has_head_inside ? 1 : options.packages.heads,
                      ane::size_of_spec(options.packages.layers).value_or(ane::kShardBytes)));
  note_exceeded_size(plan);
  // What labels tokens has no use for it.
  if (options.form.has_embed() && !config.classifies())
    plan.embed_bytes =
        dtype_bytes(options.precision, static_cast<std::uint64_t>(config.hidden_size));
  ANEMONE_ASSIGN_OR_RETURN(const bool is_shared, shares_rows_of_head(weights, *head, plan));
  if (!is_shared) {
    ANEMONE_ASSIGN_OR_RETURN(plan.embedding_bytes,
                             table_bytes(weights, plan.embedding_tensor,
                                         {config.vocab_size, config.hidden_size}, plan.options));
  }
  plan.layer_embedding_columns = config.layer_embedding_size * config.num_layers();
  if (plan.layer_embedding_columns != 0) {
    ANEMONE_ASSIGN_OR_RETURN(
        plan.layer_embedding_bytes,
        table_bytes(weights, plan.layer_embedding_tensor,
                    {config.vocab_size, plan.layer_embedding_columns}, plan.options));
  }
  return plan;
}

}  // namespace anemone::compiler
