// SPDX-License-Identifier: Apache-2.0
#include "compiler/layer_plan.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <numeric>
#include <vector>

#include "ane/limits.h"
#include "base/error.h"
#include "base/progress.h"
#include "compiler/weight_store.h"
#include "models/decoder_graph.h"

namespace anemone::compiler {
namespace {

using Parts = std::vector<models::PartSize>;

// Most packages of layers and experts: several times as many as the largest published models have
// experts. Each of them is a graph to build and a file to write, and the config of a stranger may
// have millions of experts.
constexpr std::size_t kMaxPackages = 65'536;

std::uint64_t bytes_of(const Parts& parts) {
  std::uint64_t bytes = 0;
  for (const models::PartSize& part : parts) bytes += part.bytes;
  return bytes;
}

// The parts of each layer, by building its graph: the bytes of the smallest function that there can
// be, and, where they matter, the operations of the widest one.
Result<std::vector<Parts>> parts_of_layers(const checkpoint::Checkpoint& checkpoint,
                                           const CompilePlan& plan) {
  const CompileOptions& options = plan.options;
  models::GraphOptions graph = plan.graph_options({});
  graph.context = graph.cache_context = 1;
  graph.caches_are_states = plan.options.target >= ir::Opset::kIOS18;
  // Each expert is a part of the layer, wherever it goes.
  graph.form.experts = artifact::ExpertsForm::kDense;
  models::GraphOptions widest = graph;
  for (const artifact::Function& function : plan.functions)
    widest.tokens = std::max(widest.tokens, function.tokens);
  widest.context = widest.cache_context = widest.tokens;
  // Layers of one kind have one size, except where the form in the checkpoint decides the size.
  const bool follows_source =
      options.recipe.quant.scheme == quant::Scheme::kPassthrough || options.recipe.quant.keeps_bits;
  std::vector<Parts> all;
  for (std::int64_t layer = 0; layer < plan.config.num_layers(); ++layer) {
    const bool is_known = !plan.config.is_first_of_its_kind(layer);
    const auto like = static_cast<std::size_t>(is_known ? plan.config.first_like(layer) : 0);
    if (is_known && !follows_source) {
      all.push_back(Parts(all[like]));
      continue;
    }
    WeightStore weights(checkpoint.weights, options.recipe, options.precision);
    ANEMONE_ASSIGN_OR_RETURN(
        Parts parts, models::part_sizes(*plan.architecture, plan.config, layer, weights, graph));
    if (is_known) {
      for (std::size_t i = 0; i < parts.size(); ++i) parts[i].operations = all[like][i].operations;
    } else if (options.form.has_bounded_packages() && widest.tokens > 1) {
      ANEMONE_ASSIGN_OR_RETURN(const Parts wide, models::part_sizes(*plan.architecture, plan.config,
                                                                    layer, weights, widest));
      for (std::size_t i = 0; i < parts.size(); ++i) parts[i].operations = wide[i].operations;
    }
    all.push_back(std::move(parts));
  }
  return all;
}

// Functions of an expert: for one token, and for twice as many as it has of the widest step on
// average, so that most steps need one call.
std::vector<std::int64_t> expert_widths(const CompilePlan& plan) {
  std::int64_t widest = 1;
  bool has_single = false;
  for (const artifact::Function& function : plan.functions) {
    widest = std::max(widest, function.tokens);
    has_single |= function.tokens == 1 || function.is_flexible;
  }
  const models::ExpertsConfig& experts = plan.config.experts;
  std::int64_t width = 2;
  while (width * experts.count < 2 * widest * experts.active) width *= 2;
  width = std::min(width, widest);
  if (!has_single) return {width};
  return width == 1 ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{1, width};
}

// The experts of a layer in packages, from all of its parts.
Result<std::vector<LayerShard::ExpertPack>> packs_of(const Parts& parts, const std::string& spec) {
  std::vector<std::uint64_t> experts;
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) experts.push_back(parts[i].bytes);
  ANEMONE_ASSIGN_OR_RETURN(const std::vector<ane::Range> ranges,
                           ane::plan_expert_packs(spec, experts));
  std::vector<LayerShard::ExpertPack> packs;
  for (const ane::Range& range : ranges)
    packs.push_back({range, std::accumulate(experts.begin() + range.begin,
                                            experts.begin() + range.end, std::uint64_t{0})});
  return packs;
}

// Whether a package ends after each layer because the packed cache of the next one has another
// shape: Core ML runs no package whose states have several.
std::vector<bool> borders_of_packed_caches(const CompilePlan& plan) {
  const models::DecoderConfig& config = plan.config;
  std::vector<bool> ends_package(config.layers.size(), false);
  if (!plan.options.form.has_packed_caches()) return ends_package;
  const models::LayerConfig* last = nullptr;  // that has a cache
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const models::LayerConfig& layer = config.layers[i];
    if (layer.is_delta_net || layer.is_short_conv) continue;
    if (last != nullptr && (config.head_dim_of(layer) != config.head_dim_of(*last) ||
                            config.kv_heads_of(layer) != config.kv_heads_of(*last)))
      ends_package[i - 1] = true;
    last = &layer;
  }
  return ends_package;
}

// What the shards are made of. `layers`: the parts of each, and whether a package ends after it.
std::vector<ane::Piece> pieces_of(const std::vector<Parts>& layers,
                                  const std::vector<bool>& ends_package, bool has_packs) {
  std::vector<ane::Piece> pieces;
  const auto add = [&](const models::PartSize& part, bool ends_layer, bool ends_package) {
    pieces.push_back({part.bytes, ends_layer, ends_package, part.operations});
  };
  for (const Parts& parts : layers) {
    if (has_packs && parts.size() > 1) {
      add(parts.front(), false, true);
      add(parts.back(), true, false);
    } else {
      for (std::size_t i = 0; i < parts.size(); ++i) add(parts[i], i + 1 == parts.size(), false);
    }
    if (ends_package[static_cast<std::size_t>(&parts - layers.data())])
      pieces.back().ends_package = true;
  }
  return pieces;
}

}  // namespace

Status plan_layers(const checkpoint::Checkpoint& checkpoint, CompilePlan& plan) {
  ANEMONE_ASSIGN_OR_RETURN(const std::vector<Parts> parts, parts_of_layers(checkpoint, plan));
  CompileOptions& options = plan.options;
  const auto is_cut = [](const Parts& layer) { return layer.size() > 1; };
  if (options.form.has_expert_packs() && std::ranges::none_of(parts, is_cut)) {
    if (std::ranges::any_of(plan.config.layers, &models::LayerConfig::has_experts))
      return unsupported(
          "[--experts] expected dense, got packs: layers of {} share the keys of an earlier one, "
          "whose keys and values cannot cross the border of a package inside a layer",
          checkpoint.path);
    plan.notes.push_back("no layer has experts: --experts packs left out");
    options.form.experts = artifact::ExpertsForm::kDense;
  }
  const bool has_packs = options.form.has_expert_packs();
  for (const Parts& layer : parts) {
    if (!is_cut(layer)) continue;
    ++plan.expert_layers;
    plan.expert_bytes += bytes_of(layer) - layer.front().bytes - layer.back().bytes;
  }
  if (has_packs) plan.expert_widths = expert_widths(plan);
  const std::vector<bool> ends_package = borders_of_packed_caches(plan);
  if (std::ranges::count(ends_package, true) != 0)
    plan.notes.push_back(
        "packages end where caches change their shape: states of several shapes in a package fail");
  const std::vector<ane::Piece> pieces = pieces_of(parts, ends_package, has_packs);
  ANEMONE_ASSIGN_OR_RETURN(
      const std::vector<ane::Range> ranges,
      ane::plan_layer_shards(options.packages.layers, pieces, options.form.packages));
  std::int64_t layer = 0;
  std::int64_t part = 0;
  std::size_t packages = ranges.size();
  for (const ane::Range& range : ranges) {
    LayerShard shard = {.layers = {.begin = layer, .part_begin = part}};
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const ane::Piece& piece = pieces[static_cast<std::size_t>(i)];
      shard.bytes += piece.bytes;
      part = piece.ends_layer ? 0 : part + 1;
      shard.layers.end = layer + 1;
      if (piece.ends_layer) ++layer;
    }
    shard.layers.part_end = part;
    if (has_packs && part != 0) {
      ANEMONE_ASSIGN_OR_RETURN(
          shard.packs, packs_of(parts[static_cast<std::size_t>(layer)], options.packages.experts));
    }
    packages += shard.packs.size();
    if (packages > kMaxPackages)
      return invalid_argument(
          "[--shards, --plan] expected at most {} packages of layers and experts, got more",
          kMaxPackages);
    plan.layer_shards.push_back(std::move(shard));
  }
  const auto heaviest = std::ranges::max_element(plan.layer_shards, {}, &LayerShard::bytes);
  if (options.packages.layers == "auto" && heaviest->bytes > ane::kShardBytes)
    plan.notes.push_back(fmt::format(
        "{} take {} MB, more than the {} MB that the chip is known to take, and cannot be cut{}: "
        "fewer bits (--quant lut4) make it smaller",
        artifact::layers_text(heaviest->layers), heaviest->bytes / 1'000'000,
        ane::kShardBytes / 1'000'000,
        plan.config.shares_keys() ? ", since layers share keys" : ""));
  return {};
}

void note_exceeded_limits(CompilePlan& plan) {
  const ane::PackagePlan& packages = plan.options.packages;
  if (packages.layers == "auto" && !packages.has_head_inside) return;
  const auto exceeds = [&](const LayerShard& shard) {
    const bool has_head = packages.has_head_inside && &shard == &plan.layer_shards.back();
    return shard.bytes + (has_head ? plan.head_bytes : 0) > ane::kShardBytes ||
           shard.layers.end - shard.layers.begin > ane::kMaxLayers;
  };
  const auto count = std::ranges::count_if(plan.layer_shards, exceeds);
  if (count == 0) return;
  plan.notes.push_back(fmt::format(
      "{} of {} packages have more than the {} MB or {} layers that every chip is known to take: "
      "anemone check says what is known of them",
      count, plan.layer_shards.size(), ane::kShardBytes / 1'000'000, ane::kMaxLayers));
}

void note_exceeded_size(CompilePlan& plan) {
  static_assert(ane::kChannelMultiple == 32);
  constexpr std::string_view kLeastHead = "a head has at least 32 rows";
  struct Package {
    std::string content;
    std::uint64_t bytes;
    std::uint64_t most;
    std::string_view reason;
  };
  const ane::PackagePlan& packages = plan.options.packages;
  std::vector<Package> above;
  const auto check = [&](std::string content, std::uint64_t bytes, const std::string& spec,
                         std::string_view reason) {
    const auto most = ane::size_of_spec(spec);
    if (most && bytes > *most) above.push_back({std::move(content), bytes, *most, reason});
  };
  for (const LayerShard& shard : plan.layer_shards) {
    const bool has_head = packages.has_head_inside && &shard == &plan.layer_shards.back();
    const bool is_part = shard.layers.part_begin != 0 || shard.layers.part_end != 0;
    check(artifact::layers_text(shard.layers), shard.bytes + (has_head ? plan.head_bytes : 0),
          packages.layers,
          has_head                    ? "the head is in the package of the last layers"
          : is_part                   ? "a layer is cut before, between and after its experts only"
          : plan.config.shares_keys() ? "a layer is not cut where layers share keys"
                                      : "a layer without experts is not cut");
    for (const LayerShard::ExpertPack& pack : shard.packs)
      check(artifact::experts_text(shard.layers.end - 1, pack.experts.begin, pack.experts.end),
            pack.bytes, packages.experts, "an expert is not cut");
  }
  const auto rows = static_cast<std::uint64_t>(plan.config.num_logits());
  for (const std::vector<ane::Range>& heads : plan.head_packages) {
    if (packages.has_head_inside) break;
    const auto own = static_cast<std::uint64_t>(heads.back().end - heads.front().begin);
    check(fmt::format("the head for {} {}-{}", plan.config.classifies() ? "labels" : "tokens",
                      heads.front().begin, heads.back().end - 1),
          plan.head_bytes * own / rows, packages.layers,
          packages.heads != 0 ? "the plan says how many packages the head has" : kLeastHead);
  }
  const auto worst = std::ranges::max_element(above, {}, &Package::bytes);
  if (worst == above.end()) return;
  std::string others;
  if (above.size() > 1)
    others = fmt::format("; {} more {} larger, too", above.size() - 1,
                         above.size() == 2 ? "package is" : "packages are");
  plan.notes.push_back(fmt::format("the package of {} has {}, more than {}: {}{}", worst->content,
                                   format_bytes(worst->bytes), format_bytes(worst->most),
                                   worst->reason, others));
}

}  // namespace anemone::compiler
