// SPDX-License-Identifier: Apache-2.0
#include "compiler/compilation.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/file.h"
#include "base/mapped_file.h"
#include "base/progress.h"
#include "compiler/description.h"
#include "compiler/embedding_file.h"
#include "compiler/stored_rows.h"
#include "compiler/weight_store.h"
#include "ir/verifier.h"
#include "mlpackage/package_writer.h"
#include "models/decoder_graph.h"
#include "ops/registry.h"

namespace anemone::compiler {
namespace {

// Quantized tensors that wait to be written. The largest tensor may be more on its own.
constexpr std::uint64_t kMaxBytesInFlight = 128'000'000;
constexpr std::string_view kEmbedPackage = "embed.mlpackage";

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Compilation {
 public:
  Compilation(const checkpoint::Checkpoint& checkpoint, CompilePlan plan, std::string folder,
              Journal* journal, const CompileProgress& progress)
      : checkpoint_(checkpoint),
        plan_(std::move(plan)),
        folder_(std::move(folder)),
        journal_(journal),
        progress_(progress),
        threads_(plan_.options.threads > 0 ? plan_.options.threads : default_thread_count()),
        weights_(checkpoint.weights, recipe_of(plan_.options), plan_.options.precision) {}

  Result<CompileReport> run() {
    ANEMONE_RETURN_IF_ERROR(check_cancelled());
    report_.notes = plan_.notes;
    report_.manifest = describe_model(checkpoint_, plan_, report_.notes);
    for (const LayerShard& shard : plan_.layer_shards) ANEMONE_RETURN_IF_ERROR(write_layers(shard));
    if (!has_head_inside())
      for (const std::vector<ane::Range>& outputs : plan_.head_packages)
        ANEMONE_RETURN_IF_ERROR(write_heads(outputs));
    if (plan_.has_embed()) ANEMONE_RETURN_IF_ERROR(write_embed());
    ANEMONE_RETURN_IF_ERROR(write_embeddings());
    ANEMONE_RETURN_IF_ERROR(check_cancelled());
    if (journal_ != nullptr) {
      ANEMONE_RETURN_IF_ERROR(write_text_files());
      ANEMONE_RETURN_IF_ERROR(check_mapped_files());
      std::ranges::sort(report_.manifest.files, {}, &artifact::FileEntry::path);
      for (const artifact::FileEntry& file : report_.manifest.files)
        report_.total_bytes += file.bytes;
      ANEMONE_RETURN_IF_ERROR(journal_->begin(std::string(artifact::kManifestName)));
      ANEMONE_RETURN_IF_ERROR(artifact::write_manifest(folder_, report_.manifest));
    }
    report_.is_dry_run = plan_.options.dry_run;
    for (const artifact::Shard& shard : report_.manifest.shards)
      for (const artifact::Cache& cache : shard.caches)
        report_.cache_bytes +=
            dtype_bytes(cache.dtype, static_cast<std::uint64_t>(element_count(cache.shape)));
    if (plan_.expert_layers != 0) report_.experts = describe_experts(plan_);
    report_.weights = weights_.reports();
    for (const checkpoint::WeightRef* weight : checkpoint_.weights->all())
      report_.source_bytes += weight->bytes.size();
    return std::move(report_);
  }

 private:
  static Recipe recipe_of(const CompileOptions& options) {
    Recipe recipe = options.recipe;
    recipe.quant.measure_error = options.measure_errors;
    return recipe;
  }

  Status check_cancelled() const {
    if (plan_.options.cancel == nullptr || !*plan_.options.cancel) return {};
    return cancelled("[{}] the compilation was cancelled", checkpoint_.path);
  }

  static std::string package_of(const artifact::LayerSpan& layers) {
    std::string name = fmt::format("layers_{:02}_{:02}", layers.begin, layers.end - 1);
    if (layers.part_begin != 0) name += fmt::format("_part_{}", layers.part_begin);
    return name + ".mlpackage";
  }

  // Whether the shard has the first layer of a kind. A dry run builds all functions of such a
  // shard; of the others only the last function, which gives the interface.
  bool has_new_kind(const artifact::LayerSpan& layers) const {
    for (std::int64_t i = layers.begin; i < layers.end; ++i)
      if (plan_.config.is_first_of_its_kind(i)) return true;
    return false;
  }

  Status write_layers(const LayerShard& planned) {
    mlpackage::Model model;
    artifact::Shard shard;
    std::string prefix;  // of the experts behind its end
    const bool has_head = has_head_inside() && &planned == &plan_.layer_shards.back();
    const std::vector<models::Projection> projections =
        has_head ? head_projections(plan_.head_packages.front())
                 : std::vector<models::Projection>();
    std::vector<artifact::Head> heads;
    const bool is_whole = journal_ || plan_.options.check || has_new_kind(planned.layers);
    for (const artifact::Function& function : plan_.functions) {
      if (!is_whole && &function != &plan_.functions.back()) continue;
      ANEMONE_ASSIGN_OR_RETURN(
          models::ShardInterface interface,
          models::build_layers(model.program, function.name, *plan_.architecture, plan_.config,
                               planned.layers, weights_, plan_.graph_options(function),
                               projections));
      const std::int64_t before =
          report_.manifest.shards.empty() ? 0 : report_.manifest.shards.back().carried;
      if (interface.entered != before)
        return internal_error("[{}] expected {} channels beside the hidden state, got {}",
                              artifact::layers_text(planned.layers), before, interface.entered);
      shard.inputs = std::move(interface.ports);
      shard.caches = std::move(interface.caches);
      axes_.add(plan_.options.form, shard, plan_.options.context);
      shard.output = std::move(interface.output);
      heads = std::move(interface.heads);
      shard.carried = interface.carried;
      if (interface.experts) {
        prefix = interface.experts->prefix;
        shard.experts = artifact::Experts{.input = std::move(interface.experts->input),
                                          .weights = std::move(interface.experts->weights),
                                          .count = plan_.config.experts.count,
                                          .active = plan_.config.experts.active,
                                          .widths = plan_.expert_widths};
      }
    }
    shard.layers = planned.layers;
    shard.package = package_of(planned.layers);
    std::string content = artifact::layers_text(planned.layers);
    if (has_head) {
      ANEMONE_RETURN_IF_ERROR(add_heads(model, projections, std::move(heads), shard.package));
      content += ", " + head_text(plan_.head_packages.front());
    }
    ANEMONE_RETURN_IF_ERROR(write(std::move(model), shard.package, content,
                                  planned.bytes + (has_head ? plan_.head_bytes : 0),
                                  planned.layers.end - planned.layers.begin));
    for (const LayerShard::ExpertPack& pack : planned.packs) {
      ANEMONE_RETURN_IF_ERROR(write_experts(planned.layers.end - 1, prefix, pack));
      shard.experts->packs.push_back(
          {report_.packages.back().name, pack.experts.begin, pack.experts.end});
    }
    report_.manifest.shards.push_back(std::move(shard));
    return {};
  }

  // A function for each expert and width.
  Status write_experts(std::int64_t layer, const std::string& prefix,
                       const LayerShard::ExpertPack& pack) {
    mlpackage::Model model;
    for (std::int64_t e = pack.experts.begin; e < pack.experts.end; ++e)
      for (const std::int64_t width : plan_.expert_widths)
        ANEMONE_RETURN_IF_ERROR(models::build_expert(
            model.program, artifact::expert_function(e, width), plan_.config, layer, prefix, e,
            weights_,
            {.dtype = plan_.options.precision, .tokens = width, .form = plan_.options.form}));
    return write(std::move(model),
                 fmt::format("experts_{:02}_{:03}_{:03}.mlpackage", layer, pack.experts.begin,
                             pack.experts.end - 1),
                 artifact::experts_text(layer, pack.experts.begin, pack.experts.end), pack.bytes,
                 1);
  }

  bool has_head_inside() const { return plan_.options.packages.has_head_inside; }

  std::vector<models::Projection> head_projections(const std::vector<ane::Range>& ranges) const {
    std::vector<models::Projection> projections;
    for (const ane::Range& range : ranges)
      projections.push_back(
          {.name = ranges.size() == 1 ? "head" : fmt::format("head_{}", projections.size()),
           .role = models::WeightRole::kHead,
           .parts = {{plan_.head_tensor, range.begin, range.end - range.begin}},
           .inputs = plan_.config.hidden_size});
    return projections;
  }

  std::string head_text(const std::vector<ane::Range>& ranges) const {
    return fmt::format("{} {}-{}", plan_.config.classifies() ? "labels" : "vocabulary",
                       ranges.front().begin, ranges.back().end - 1);
  }

  // Takes heads of `model`, which becomes this package, into the manifest.
  Status add_heads(const mlpackage::Model& model,
                   const std::vector<models::Projection>& projections,
                   std::vector<artifact::Head> heads, const std::string& package) {
    for (std::size_t i = 0; i < heads.size(); ++i) {
      heads[i].package = package;
      if (plan_.heads_hold_embeddings())
        ANEMONE_RETURN_IF_ERROR(add_embedding_part(model, projections[i], heads[i]));
      report_.manifest.heads.push_back(std::move(heads[i]));
    }
    return {};
  }

  // A package whose outputs are these ranges of the vocabulary.
  Status write_heads(const std::vector<ane::Range>& ranges) {
    mlpackage::Model model;
    const std::vector<models::Projection> projections = head_projections(ranges);
    std::vector<artifact::Head> heads;
    for (const artifact::Function& function : plan_.functions) {
      if (!is_of_heads(function)) continue;
      ANEMONE_ASSIGN_OR_RETURN(
          heads, models::build_heads(model.program, function.name, plan_.config, projections,
                                     weights_, plan_.graph_options(function)));
    }
    const std::string package =
        fmt::format("head_{}.mlpackage", report_.manifest.head_packages().size());
    ANEMONE_RETURN_IF_ERROR(add_heads(model, projections, std::move(heads), package));
    const auto rows = static_cast<std::uint64_t>(ranges.back().end - ranges.front().begin);
    return write(std::move(model), package, head_text(ranges),
                 plan_.head_bytes * rows / static_cast<std::uint64_t>(plan_.config.num_logits()));
  }

  // A head attends to no context: it needs no function for a tier.
  bool is_of_heads(const artifact::Function& function) const {
    return function.context == 0 || plan_.config.classifies();
  }

  Status write_embed() {
    mlpackage::Model model;
    artifact::Embed embed;
    for (const artifact::Function& function : plan_.functions) {
      if (!is_of_heads(function)) continue;
      ANEMONE_ASSIGN_OR_RETURN(
          embed, models::build_embed(model.program, function.name, plan_.config, weights_,
                                     plan_.graph_options(function)));
    }
    embed.package = kEmbedPackage;
    ANEMONE_RETURN_IF_ERROR(
        write(std::move(model), embed.package, "final norm", plan_.embed_bytes));
    report_.manifest.embed = std::move(embed);
    return {};
  }

  // The rows of a tied head serve as embeddings in place.
  Status add_embedding_part(const mlpackage::Model& model, const models::Projection& projection,
                            const artifact::Head& head) {
    ANEMONE_ASSIGN_OR_RETURN(const quant::StoredWeight* weight, weights_.stored(projection));
    ANEMONE_ASSIGN_OR_RETURN(auto part, rows_of_head(model, *weight, head, journal_ != nullptr));
    if (part) report_.manifest.embedding.parts.push_back(*std::move(part));
    return {};
  }

  Status write(mlpackage::Model model, const std::string& package, const std::string& content,
               std::uint64_t planned_bytes, std::int64_t layers = 0) {
    if (journal_ == nullptr) {
      if (plan_.options.check) {
        ANEMONE_RETURN_IF_ERROR(describe_package(content, axes_, model));
        report_.checked.push_back(
            ane::check_package(package, model, layers, {.is_auxiliary = package == kEmbedPackage}));
      }
      report_.packages.push_back({package, content, planned_bytes});
      report_.total_bytes += planned_bytes;
      return ir::verify(model.program, ops::op_registry());
    }
    const auto start = Clock::now();
    const std::uint64_t before = done_;
    const std::vector<artifact::FileEntry>* files = journal_->find(package);
    const bool is_reused = files != nullptr;
    if (!is_reused) {
      ANEMONE_RETURN_IF_ERROR(journal_->begin(package));
      ANEMONE_RETURN_IF_ERROR(
          describe_package(fmt::format("{} {}", report_.manifest.name, content), axes_, model));
      mlpackage::WriteOptions options;
      options.registry = &ops::op_registry();
      options.pool = &threads_;
      options.max_bytes_in_flight = kMaxBytesInFlight;
      options.cancel = plan_.options.cancel;
      options.progress = [this, before, &content](std::uint64_t bytes, std::uint64_t) {
        advance_to(before + bytes, content);
      };
      ANEMONE_RETURN_IF_ERROR(
          mlpackage::write_package(model, folder_ + "/" + package, options).status());
      // A piece that was made from a checkpoint which shrank meanwhile must not be recorded.
      ANEMONE_RETURN_IF_ERROR(check_mapped_files());
      ANEMONE_ASSIGN_OR_RETURN(files, journal_->add(package));
    }
    advance_to(before + planned_bytes, content);
    std::uint64_t bytes = 0;
    for (const artifact::FileEntry& file : *files) bytes += file.bytes;
    report_.packages.push_back({package, content, bytes, seconds_since(start), is_reused});
    add_files(*files);
    return {};
  }

  void add_files(const std::vector<artifact::FileEntry>& files) {
    auto& all = report_.manifest.files;
    all.insert(all.end(), files.begin(), files.end());
  }

  Status write_embeddings() {
    artifact::Embedding& embedding = report_.manifest.embedding;
    embedding.dtype = plan_.options.precision;
    embedding.rows = plan_.config.vocab_size;
    embedding.columns = plan_.config.hidden_size;
    if (embedding.parts.size() != report_.manifest.heads.size())
      ANEMONE_RETURN_IF_ERROR(
          write_table("embedding.bin", plan_.embedding_tensor, plan_.embedding_bytes, embedding));
    if (plan_.layer_embedding_columns == 0) return {};
    artifact::Embedding& layers = report_.manifest.layer_embedding.emplace();
    layers.dtype = plan_.options.precision;
    layers.rows = plan_.config.vocab_size;
    layers.columns = plan_.layer_embedding_columns;
    return write_table("layer_embedding.bin", plan_.layer_embedding_tensor,
                       plan_.layer_embedding_bytes, layers);
  }

  Status write_table(const std::string& name, const std::string& tensor,
                     std::uint64_t planned_bytes, artifact::Embedding& table) {
    ANEMONE_ASSIGN_OR_RETURN(const checkpoint::WeightRef* weight,
                             weights_.require(tensor, {table.rows, table.columns}));
    const std::string path = folder_ + "/" + name;
    const RowStore store = [&](std::int64_t begin, std::int64_t count) {
      return weights_.embedding_rows(tensor, weight->shape, begin, count);
    };
    table.parts = {{name, 0, table.rows}};
    artifact::EmbeddingPart& part = table.parts.front();
    if (plan_.options.form.has_stored_embedding()) {
      ANEMONE_ASSIGN_OR_RETURN(const quant::StoredWeight stored, store(0, table.rows));
      part.quantization = quantization_of(stored);
      if (part.quantization) part.quantization->offset = quantized_scales_offset(table, part);
    }
    if (journal_ == nullptr) {
      report_.total_bytes += planned_bytes;
      return {};
    }
    const auto start = Clock::now();
    const std::uint64_t before = done_;
    const std::vector<artifact::FileEntry>* files = journal_->find(name);
    if (files == nullptr) {
      ANEMONE_RETURN_IF_ERROR(journal_->begin(name));
      const auto advance = [this](std::uint64_t bytes) { advance_to(done_ + bytes, "embeddings"); };
      ANEMONE_RETURN_IF_ERROR(part.quantization
                                  ? write_quantized_embedding(store, table, path, threads_, advance)
                                  : write_embedding(*weight, table.dtype, path, threads_, advance));
      ANEMONE_RETURN_IF_ERROR(check_mapped_files());
      ANEMONE_ASSIGN_OR_RETURN(files, journal_->add(name));
    }
    advance_to(before + planned_bytes, "embeddings");
    report_.embedding_seconds += seconds_since(start);
    add_files(*files);
    return {};
  }

  Status write_text_files() {
    constexpr std::string_view kTokenizer = "tokenizer.json";
    ANEMONE_ASSIGN_OR_RETURN(const auto texts, checkpoint_.text_files());
    if (std::ranges::find(texts, kTokenizer, &checkpoint::TextFile::name) == texts.end())
      report_.notes.push_back(fmt::format(
          "the checkpoint has no {0}: the model takes token ids alone (run --prompt-ids) until a "
          "{0} lies in its folder",
          kTokenizer));
    for (const checkpoint::TextFile& text : texts) {
      ANEMONE_RETURN_IF_ERROR(journal_->begin(text.name));
      ANEMONE_RETURN_IF_ERROR(write_file(folder_ + "/" + text.name, text.content));
      ANEMONE_ASSIGN_OR_RETURN(artifact::FileEntry file,
                               artifact::describe_file(folder_, text.name));
      report_.manifest.files.push_back(std::move(file));
    }
    return {};
  }

  void advance_to(std::uint64_t done, const std::string& what) {
    std::lock_guard lock(progress_mutex_);
    done_ = std::max(done_, done);
    if (progress_) progress_(std::min(done_, plan_.total_bytes()), plan_.total_bytes(), what);
  }

  const checkpoint::Checkpoint& checkpoint_;
  const CompilePlan plan_;
  const std::string folder_;
  Journal* const journal_;
  const CompileProgress& progress_;
  ThreadPool threads_;
  WeightStore weights_;
  CompileReport report_;
  OpenAxes axes_ = {.tokens = plan_.options.prefill, .tails = {}, .pasts = {}};
  std::mutex progress_mutex_;
  std::uint64_t done_ = 0;
};

}  // namespace

Result<CompileReport> run_plan(const checkpoint::Checkpoint& checkpoint, CompilePlan plan,
                               const std::string& folder, Journal* journal,
                               const CompileProgress& progress) {
  return Compilation(checkpoint, std::move(plan), folder, journal, progress).run();
}

}  // namespace anemone::compiler
