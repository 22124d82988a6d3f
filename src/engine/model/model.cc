// SPDX-License-Identifier: Apache-2.0
#include "engine/model/model.h"

#include <algorithm>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/inner_file.h"
#include "base/json_release.h"
#include "engine/model/function_plan.h"

namespace anemone::engine {
namespace {

std::string join(const std::string& folder, std::string_view name) {
  return (std::filesystem::path(folder) / name).string();
}

bool is_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace

Result<std::shared_ptr<const Model>> Model::load(const std::string& artifact_dir,
                                                 exec::Executor& executor,
                                                 const ModelLoadOptions& options) {
  std::shared_ptr<Model> model(new Model());
  model->path_ = artifact_dir;
  ANEMONE_ASSIGN_OR_RETURN(model->manifest_, artifact::read_manifest(artifact_dir));
  model->head_packages_ = model->manifest_.head_packages();
  ANEMONE_RETURN_IF_ERROR(
      artifact::check_files(artifact_dir, model->manifest_, options.check_hashes));
  ANEMONE_RETURN_IF_ERROR(model->load_embeddings());
  // The text side takes about as long as the packages and touches nothing of theirs. If no thread
  // can be started, it runs in get().
  std::future<Status> text;
  if (options.load_text)
    text = std::async(std::launch::async | std::launch::deferred,
                      [&] { return model->load_text(options.chat_template_file); });
  const Status packages = model->load_packages(executor, options);
  if (text.valid()) ANEMONE_RETURN_IF_ERROR(text.get());
  ANEMONE_RETURN_IF_ERROR(packages);
  model->constraints_ = std::make_unique<Constraints>(model->tokenizer_, model->manifest_.eos_ids,
                                                      model->manifest_.vocab_size);
  return std::shared_ptr<const Model>(std::move(model));
}

Status Model::load_packages(exec::Executor& executor, const ModelLoadOptions& options) {
  exec::LoadOptions of_shards;
  exec::LoadOptions of_heads;
  exec::LoadOptions of_packs;
  of_packs.when_first_run = true;
  for (const artifact::Function& function : manifest_.functions) {
    of_shards.functions.push_back(function.name);
    if (manifest_.head_function(function) == &function) of_heads.functions.push_back(function.name);
  }
  exec::LoadOptions of_embed = of_heads;
  of_embed.when_first_run = true;
  std::size_t total = manifest_.shards.size() + head_packages_.size() + (manifest_.embed ? 1 : 0);
  for (const artifact::Shard& shard : manifest_.shards)
    if (shard.experts) total += shard.experts->packs.size();
  std::size_t done = 0;
  const auto load = [&](const std::string& package, const exec::LoadOptions& load_options,
                        Programs& out) -> Status {
    if (options.cancel != nullptr && *options.cancel)
      return cancelled("[{}] loading was cancelled", path_);
    if (options.on_progress) options.on_progress(done, total, package);
    ANEMONE_ASSIGN_OR_RETURN(const std::string place, inner_file(path_, package));
    ANEMONE_ASSIGN_OR_RETURN(auto program, executor.load(place, load_options));
    out.push_back(std::move(program));
    ++done;
    return {};
  };
  for (const auto& shard : manifest_.shards) {
    ANEMONE_RETURN_IF_ERROR(load(shard.package, of_shards, shards_));
    Programs& packs = expert_packs_.emplace_back();
    if (!shard.experts) continue;
    for (const artifact::ExpertPack& pack : shard.experts->packs)
      ANEMONE_RETURN_IF_ERROR(load(pack.package, of_packs, packs));
    ANEMONE_RETURN_IF_ERROR(check_expert_packs(manifest_, *shard.experts, packs).with(path_));
  }
  for (const std::span<const artifact::Head> heads : head_packages_)
    ANEMONE_RETURN_IF_ERROR(load(heads.front().package, of_heads, heads_));
  if (manifest_.embed) {
    Programs embed;
    ANEMONE_RETURN_IF_ERROR(load(manifest_.embed->package, of_embed, embed));
    embed_ = std::move(embed.front());
    ANEMONE_RETURN_IF_ERROR(check_embed(manifest_, *embed_).with(path_));
  }
  if (options.on_progress) options.on_progress(done, total, "");

  bool takes_single_tokens = false;
  for (const artifact::Function& function : manifest_.functions) {
    auto plan = plan_function(manifest_, function, shards_, heads_);
    if (!plan.ok()) return plan.status().with(path_);
    takes_single_tokens |=
        manifest_.classifies() ||
        ((function.tokens == 1 || function.is_flexible) && plan->context == manifest_.context);
    functions_.push_back(std::move(*plan));
  }
  if (!takes_single_tokens)
    return unsupported("[{}] expected a function of one token over the whole context, got none",
                       path_);
  return {};
}

Status Model::check_generates() const {
  if (!manifest_.classifies()) return {};
  return unsupported("[{}] expected a model that generates text, got one that labels tokens",
                     manifest_.name);
}

Status Model::load_embeddings() {
  ANEMONE_ASSIGN_OR_RETURN(embedding_, EmbeddingTable::open(path_, manifest_.embedding));
  if (manifest_.layer_embedding) {
    ANEMONE_ASSIGN_OR_RETURN(layer_embedding_,
                             EmbeddingTable::open(path_, *manifest_.layer_embedding));
  }
  return {};
}

Status Model::load_text(const std::string& template_file) {
  if (!is_file(join(path_, "tokenizer.json"))) return {};
  ANEMONE_ASSIGN_OR_RETURN(tokenizer_, text::Tokenizer::load(path_));
  auto source = text::find_chat_template(path_, template_file);
  if (!source.ok()) return source.status().code() == Code::kNotFound ? Status() : source.status();
  chat_source_ = *std::move(source);
  answer_syntax_ = text::find_answer_syntax(chat_source_->for_tools(true), tokenizer_.get());
  chat_template_ = text::ChatTemplate::parse(chat_source_->source);
  if (chat_source_->tool_use.has_value())
    tool_template_ = text::ChatTemplate::parse(*chat_source_->tool_use);
  return template_file.empty() ? Status() : chat_template_->status().with(template_file);
}

Result<std::string> Model::render_chat(Json messages, bool add_generation_prompt, Json variables,
                                       WorkBudget* budget) const {
  if (!has_chat_template())
    return not_found("[{}] expected a model with a chat template, got one without", manifest_.name);
  // A request may bring 100 thousand variables: they become the context as they are, and only ours
  // are looked for among them.
  Json& context = variables;
  const JsonReleaser messages_releaser(messages), context_releaser(context);
  const auto& members =
      static_cast<const Json::object_t::Container&>(context.get_ref<const Json::object_t&>());
  const auto add = [&](const char* name, Json& value) {
    const auto is_this = [&](const auto& member) { return member.first == name; };
    if (std::ranges::none_of(members, is_this)) append_member(context, name, std::move(value));
  };
  Json generates = add_generation_prompt;
  add("messages", messages);
  add("add_generation_prompt", generates);
  for (const auto& [name, text] : {std::pair("bos_token", &chat_source_->bos_token),
                                   std::pair("eos_token", &chat_source_->eos_token)}) {
    if (!*text) continue;
    Json token = **text;
    add(name, token);
  }
  const bool has_tools = json_member(context, "tools") != nullptr;
  const auto& chosen = has_tools && tool_template_ ? *tool_template_ : *chat_template_;
  if (!chosen.ok()) return chosen.status().with("chat template of " + path_);
  text::RenderOptions options;
  options.budget = budget;
  return chosen->render(context, options);
}

bool Model::keeps_recurrent_states() const {
  return std::ranges::any_of(manifest_.shards, [](const artifact::Shard& shard) {
    return std::ranges::any_of(shard.caches, &artifact::Cache::is_recurrent);
  });
}

bool Model::reads_weights_once() const {
  return std::ranges::all_of(shards_,
                             [](const auto& shard) { return shard->reads_weights_once(); });
}

bool Model::is_eos(std::int32_t id) const {
  return std::ranges::find(manifest_.eos_ids, id) != manifest_.eos_ids.end();
}

Status Model::check_id(std::int32_t id) const {
  if (id >= 0 && id < manifest_.embedding.rows) return {};
  return invalid_argument("[{}] expected a token id from 0 to {}, got {}", manifest_.name,
                          manifest_.embedding.rows - 1, id);
}

Status Model::check_prompt(std::span<const std::int32_t> ids, bool wants_logits) const {
  if (ids.empty()) return invalid_argument("[prompt] expected at least one token, got none");
  for (const std::int32_t id : ids) ANEMONE_RETURN_IF_ERROR(check_id(id));
  if (wants_logits && manifest_.is_greedy())
    return unsupported("[{}] expected a model with logits, got one compiled with --argmax",
                       manifest_.name);
  if (static_cast<std::int64_t>(ids.size()) > context())
    return invalid_argument(
        "[prompt] expected at most {} tokens (the context of the compiled model), got {}: shorten "
        "it, or compile with a larger --context",
        context(), ids.size());
  return {};
}

Status Model::check_gives_hidden() const {
  if (embed_ != nullptr) return {};
  return unsupported(
      "[{}] expected a model that gives hidden states, got one that was compiled without them: "
      "compile it with --form portable, or with \"embed\": \"package\" in its form",
      manifest_.name);
}

Status Model::embed(std::span<const std::int32_t> ids, const MutableTensorView& hidden) const {
  return embedding_.look_up(ids, 0, hidden);
}

Status Model::embed(std::span<const std::int32_t> ids, StepInputs& inputs) const {
  return inputs.look_up(ids, embedding_, layer_embedding_ ? &*layer_embedding_ : nullptr);
}

}  // namespace anemone::engine
