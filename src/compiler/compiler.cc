// SPDX-License-Identifier: Apache-2.0
#include "compiler/compiler.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/version.h"
#include "compiler/embedding_file.h"
#include "compiler/output_folder.h"
#include "compiler/plan.h"
#include "compiler/weight_store.h"
#include "ir/verifier.h"
#include "mlpackage/package_writer.h"
#include "models/decoder_graph.h"
#include "ops/registry.h"

namespace anemone::compiler {
namespace {

namespace fs = std::filesystem;

// Files of the checkpoint that text needs, copied as they are.
constexpr std::string_view kTextFiles[] = {"tokenizer.json", "tokenizer_config.json",
                                           "special_tokens_map.json", "chat_template.jinja"};
// Room for programs, manifests and the tokenizer beside the weights.
constexpr std::uint64_t kDiskSlackBytes = 64'000'000;
// Quantized tensors that wait to be written. The largest tensor may be more on its own.
constexpr std::uint64_t kMaxBytesInFlight = 128'000'000;

class Compilation {
 public:
  Compilation(const checkpoint::Checkpoint& checkpoint, Plan plan, std::string folder,
              const CompileProgress& progress)
      : checkpoint_(checkpoint),
        plan_(std::move(plan)),
        folder_(std::move(folder)),
        progress_(progress),
        threads_(plan_.options.threads > 0 ? plan_.options.threads : default_thread_count()),
        weights_(checkpoint.weights, plan_.options.recipe, plan_.options.precision) {}

  Result<CompileReport> run() {
    ANEMONE_RETURN_IF_ERROR(check_cancelled());
    describe();
    for (const ane::Range& range : plan_.layer_shards) ANEMONE_RETURN_IF_ERROR(write_layers(range));
    for (const ane::Range& range : plan_.head_shards) ANEMONE_RETURN_IF_ERROR(write_head(range));
    ANEMONE_RETURN_IF_ERROR(write_embeddings());
    ANEMONE_RETURN_IF_ERROR(check_cancelled());
    if (!plan_.options.dry_run) {
      ANEMONE_RETURN_IF_ERROR(copy_text_files());
      ANEMONE_RETURN_IF_ERROR(list_files());
      ANEMONE_RETURN_IF_ERROR(artifact::write_manifest(folder_, report_.manifest));
    }
    report_.notes = plan_.notes;
    report_.is_dry_run = plan_.options.dry_run;
    for (const checkpoint::WeightRef* weight : checkpoint_.weights->all())
      report_.source_bytes += weight->bytes.size();
    return std::move(report_);
  }

 private:
  Status check_cancelled() const {
    if (plan_.options.cancel == nullptr || !*plan_.options.cancel) return {};
    return cancelled("[{}] expected to reach the end, got cancelled", checkpoint_.path);
  }

  void describe() {
    const models::DecoderConfig& config = plan_.config;
    artifact::Manifest& manifest = report_.manifest;
    manifest.producer = std::string("anemone ") + std::string(version());
    manifest.model_type = plan_.architecture->model_type;
    manifest.name = fs::absolute(checkpoint_.path).lexically_normal().filename().string();
    if (manifest.name.empty())  // a path that ends in a slash
      manifest.name =
          fs::absolute(checkpoint_.path).lexically_normal().parent_path().filename().string();
    manifest.precision = dtype_name(plan_.options.precision);
    manifest.quantization = plan_.options.recipe.description();
    manifest.target = ir::opset_target(ir::Opset::kIOS18);
    manifest.vocab_size = config.vocab_size;
    manifest.hidden_size = config.hidden_size;
    manifest.layers = config.num_layers();
    manifest.context = plan_.options.context;
    manifest.max_position = config.max_position;
    manifest.ropes = {config.rope};
    manifest.functions = plan_.functions;
    describe_tokens(config);
  }

  // generation_config.json wins over config.json, as in transformers' generate().
  void describe_tokens(const models::DecoderConfig& config) {
    artifact::Manifest& manifest = report_.manifest;
    const auto keep = [&](std::int64_t id) {
      if (id >= 0 && id <= std::numeric_limits<std::int32_t>::max())
        manifest.eos_ids.push_back(static_cast<std::int32_t>(id));
    };
    if (const Json* eos = json_member(checkpoint_.generation, "eos_token_id")) {
      if (eos->is_number_integer()) keep(eos->get<std::int64_t>());
      if (eos->is_array())
        for (const Json& id : *eos)
          if (id.is_number_integer()) keep(id.get<std::int64_t>());
    }
    if (manifest.eos_ids.empty())
      for (const std::int64_t id : config.eos_ids) keep(id);
    if (config.bos_id && *config.bos_id >= 0 &&
        *config.bos_id <= std::numeric_limits<std::int32_t>::max())
      manifest.bos_id = static_cast<std::int32_t>(*config.bos_id);
    for (const char* key : {"do_sample", "temperature", "top_p", "top_k", "min_p",
                            "repetition_penalty", "no_repeat_ngram_size"})
      if (const Json* value = json_member(checkpoint_.generation, key))
        manifest.generation[key] = *value;
  }

  models::GraphOptions graph_options(const artifact::Function& function) const {
    return {.dtype = plan_.options.precision,
            .tokens = function.tokens,
            .context = plan_.options.context,
            .caches_are_states = plan_.options.precision == DType::kFp16};
  }

  Status write_layers(const ane::Range& range) {
    mlpackage::Model model;
    artifact::Shard shard;
    for (const artifact::Function& function : plan_.functions) {
      ANEMONE_ASSIGN_OR_RETURN(
          models::ShardInterface interface,
          models::build_layers(model.program, function.name, *plan_.architecture, plan_.config,
                               range.begin, range.end, weights_, graph_options(function)));
      shard.inputs = std::move(interface.ports);
      shard.caches = std::move(interface.caches);
      shard.output = std::move(interface.output);
    }
    shard.layer_begin = range.begin;
    shard.layer_end = range.end;
    shard.package = fmt::format("layers_{:02}_{:02}.mlpackage", range.begin, range.end - 1);
    ANEMONE_RETURN_IF_ERROR(write(std::move(model), shard.package,
                                  fmt::format("layers {}-{}", range.begin, range.end - 1),
                                  plan_.layer_bytes * rows_of(range)));
    report_.manifest.shards.push_back(std::move(shard));
    return {};
  }

  Status write_head(const ane::Range& range) {
    mlpackage::Model model;
    for (const artifact::Function& function : plan_.functions)
      ANEMONE_RETURN_IF_ERROR(models::build_head(model.program, function.name, plan_.config,
                                                 plan_.head_tensor, range.begin, range.end,
                                                 weights_, graph_options(function)));
    artifact::Head head;
    head.package = fmt::format("head_{}.mlpackage", report_.manifest.heads.size());
    head.vocab_begin = range.begin;
    head.vocab_end = range.end;
    head.input = "hidden";
    head.output = "logits";
    ANEMONE_RETURN_IF_ERROR(write(
        std::move(model), head.package, fmt::format("vocabulary {}-{}", range.begin, range.end - 1),
        plan_.head_bytes * rows_of(range) / static_cast<std::uint64_t>(plan_.config.vocab_size)));
    report_.manifest.heads.push_back(std::move(head));
    return {};
  }

  static std::uint64_t rows_of(const ane::Range& range) {
    return static_cast<std::uint64_t>(range.end - range.begin);
  }

  Status write(mlpackage::Model model, const std::string& package, const std::string& content,
               std::uint64_t planned_bytes) {
    if (plan_.options.dry_run) {
      report_.packages.push_back({package, content, planned_bytes});
      report_.total_bytes += planned_bytes;
      return ir::verify(model.program, ops::op_registry());
    }
    model.is_multifunction = true;  // its functions have names of their own even when there is one
    model.default_function = plan_.functions.front().name;
    for (const ir::Function* function : model.program.functions()) {
      ANEMONE_ASSIGN_OR_RETURN(auto interface, mlpackage::describe_function(*function));
      model.functions.push_back(std::move(interface));
    }
    model.metadata.short_description = fmt::format("{} {}", report_.manifest.name, content);
    const std::uint64_t before = done_;
    mlpackage::WriteOptions options;
    options.registry = &ops::op_registry();
    options.pool = &threads_;
    options.max_bytes_in_flight = kMaxBytesInFlight;
    options.cancel = plan_.options.cancel;
    options.progress = [this, before, &content](std::uint64_t bytes, std::uint64_t) {
      advance_to(before + bytes, content);
    };
    ANEMONE_ASSIGN_OR_RETURN(const auto written,
                             mlpackage::write_package(model, folder_ + "/" + package, options));
    report_.packages.push_back({package, content, written.model_bytes + written.weight_bytes});
    return {};
  }

  Status write_embeddings() {
    ANEMONE_ASSIGN_OR_RETURN(const checkpoint::WeightRef* weight,
                             weights_.require(plan_.embedding_tensor,
                                              {plan_.config.vocab_size, plan_.config.hidden_size}));
    constexpr const char* kFile = "embedding.bin";
    if (plan_.options.dry_run) {
      report_.manifest.embedding = {kFile, plan_.options.precision, plan_.config.vocab_size,
                                    plan_.config.hidden_size};
      report_.total_bytes += plan_.embedding_bytes;
      return {};
    }
    ANEMONE_ASSIGN_OR_RETURN(
        report_.manifest.embedding,
        write_embedding(*weight, plan_.options.precision, folder_, kFile, threads_,
                        [this](std::uint64_t bytes) { advance_to(done_ + bytes, "embeddings"); }));
    return {};
  }

  Status copy_text_files() {
    for (const std::string_view name : kTextFiles) {
      const std::string from = checkpoint_.path + "/" + std::string(name);
      std::error_code error;
      if (!fs::exists(from, error)) continue;
      ANEMONE_ASSIGN_OR_RETURN(const std::string text, read_file(from));
      ANEMONE_RETURN_IF_ERROR(write_file(folder_ + "/" + std::string(name), text));
    }
    return {};
  }

  Status list_files() {
    std::vector<std::string> paths;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(folder_, error))
      if (entry.is_regular_file())
        paths.push_back(fs::relative(entry.path(), folder_).generic_string());
    if (error) return io_error("[{}] cannot list the folder: {}", folder_, error.message());
    std::sort(paths.begin(), paths.end());
    std::vector<Result<artifact::FileEntry>> entries(paths.size(),
                                                     Status(Code::kInternal, "not described"));
    threads_.parallel_for(static_cast<std::int64_t>(paths.size()), 1,
                          [&](std::int64_t begin, std::int64_t) {
                            const auto i = static_cast<std::size_t>(begin);
                            entries[i] = artifact::describe_file(folder_, paths[i]);
                          });
    for (auto& entry : entries) {
      if (!entry.ok()) return entry.status();
      report_.total_bytes += entry->bytes;
      report_.manifest.files.push_back(std::move(entry).value());
    }
    return {};
  }

  void advance_to(std::uint64_t done, const std::string& what) {
    std::lock_guard lock(progress_mutex_);
    done_ = std::max(done_, done);
    if (progress_) progress_(std::min(done_, plan_.total_bytes()), plan_.total_bytes(), what);
  }

  const checkpoint::Checkpoint& checkpoint_;
  const Plan plan_;
  const std::string folder_;
  const CompileProgress& progress_;
  ThreadPool threads_;
  WeightStore weights_;
  CompileReport report_;
  std::mutex progress_mutex_;
  std::uint64_t done_ = 0;
};

}  // namespace

Result<CompileReport> compile(const std::string& model, const std::string& output,
                              const CompileOptions& options, const CompileProgress& progress) {
  const auto start = std::chrono::steady_clock::now();
  ANEMONE_ASSIGN_OR_RETURN(const checkpoint::Checkpoint checkpoint,
                           checkpoint::open_checkpoint(model));
  ANEMONE_ASSIGN_OR_RETURN(Plan plan, make_plan(checkpoint, options));
  if (options.dry_run) {
    Compilation compilation(checkpoint, std::move(plan), "", progress);
    return compilation.run();
  }
  ANEMONE_ASSIGN_OR_RETURN(OutputFolder folder, OutputFolder::create(output));
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t available, free_disk_bytes(folder.working_path()));
  if (plan.total_bytes() + kDiskSlackBytes > available)
    return io_error("[{}] expected {} bytes of free disk space, got {}", output,
                    plan.total_bytes() + kDiskSlackBytes, available);
  Compilation compilation(checkpoint, std::move(plan), folder.working_path(), progress);
  ANEMONE_ASSIGN_OR_RETURN(CompileReport report, compilation.run());
  ANEMONE_RETURN_IF_ERROR(folder.commit());
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace anemone::compiler
