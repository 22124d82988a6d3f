// SPDX-License-Identifier: Apache-2.0
#include "engine/model.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "engine/function_plan.h"

namespace anemone::engine {
namespace {

std::string join(const std::string& folder, std::string_view name) {
  return (std::filesystem::path(folder) / name).string();
}

bool is_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// Columns of [1, hidden, T, 1] from rows of the embedding, T elements apart.
template <typename To, typename From>
void scatter(std::span<const From> row, std::span<To> out, std::size_t column, std::size_t tokens) {
  for (std::size_t c = 0; c < row.size(); ++c) {
    if constexpr (std::is_same_v<To, From>)
      out[c * tokens + column] = row[c];
    else if constexpr (std::is_same_v<To, float>)
      out[c * tokens + column] = to_float(row[c]);
    else
      out[c * tokens + column] = to_half(row[c]);
  }
}

}  // namespace

Result<std::shared_ptr<const Model>> Model::load(const std::string& artifact_dir,
                                                 exec::Executor& executor,
                                                 const LoadOptions& options) {
  std::shared_ptr<Model> model(new Model());
  model->path_ = artifact_dir;
  ANEMONE_ASSIGN_OR_RETURN(model->manifest_, artifact::read_manifest(artifact_dir));
  ANEMONE_RETURN_IF_ERROR(
      artifact::check_files(artifact_dir, model->manifest_, options.check_hashes));
  ANEMONE_RETURN_IF_ERROR(model->load_embedding());
  // The text side takes about as long as the packages and touches nothing of theirs. Without a
  // thread to spare it runs in get().
  std::future<Status> text;
  if (options.load_text)
    text = std::async(std::launch::async | std::launch::deferred,
                      [&] { return model->load_text(options.chat_template_file); });
  const Status packages = model->load_packages(executor, options);
  if (text.valid()) ANEMONE_RETURN_IF_ERROR(text.get());
  ANEMONE_RETURN_IF_ERROR(packages);
  return std::shared_ptr<const Model>(std::move(model));
}

Status Model::load_packages(exec::Executor& executor, const LoadOptions& options) {
  exec::LoadOptions of_shards;
  exec::LoadOptions of_heads;
  for (const artifact::Function& function : manifest_.functions) {
    of_shards.functions.push_back(function.name);
    if (manifest_.head_function(function) == &function) of_heads.functions.push_back(function.name);
  }
  const std::size_t total = manifest_.shards.size() + manifest_.heads.size();
  std::size_t done = 0;
  const auto load = [&](const std::string& package, const exec::LoadOptions& load_options,
                        Programs& out) -> Status {
    if (options.on_progress) options.on_progress(done, total, package);
    ANEMONE_ASSIGN_OR_RETURN(auto program, executor.load(join(path_, package), load_options));
    out.push_back(std::move(program));
    ++done;
    return {};
  };
  for (const auto& shard : manifest_.shards)
    ANEMONE_RETURN_IF_ERROR(load(shard.package, of_shards, shards_));
  for (const auto& head : manifest_.heads)
    ANEMONE_RETURN_IF_ERROR(load(head.package, of_heads, heads_));
  if (options.on_progress) options.on_progress(done, total, "");

  bool takes_single_tokens = false;
  for (const artifact::Function& function : manifest_.functions) {
    auto plan = plan_function(manifest_, function, shards_, heads_);
    if (!plan.ok()) return plan.status().with(path_);
    takes_single_tokens |=
        (function.tokens == 1 || function.is_flexible) && plan->context == manifest_.context;
    functions_.push_back(std::move(*plan));
  }
  if (!takes_single_tokens)
    return unsupported("[{}] expected a function of one token over the whole context, got none",
                       path_);
  return {};
}

Status Model::load_embedding() {
  const artifact::Embedding& embedding = manifest_.embedding;
  std::int64_t end = 0;
  for (const artifact::EmbeddingPart& part : embedding.parts) {
    const std::string path = join(path_, part.file);
    ANEMONE_ASSIGN_OR_RETURN(auto file, MappedFile::open(path));
    // No overflow: the manifest bounds rows and columns.
    const std::uint64_t bytes =
        dtype_bytes(embedding.dtype, static_cast<std::uint64_t>(part.rows * embedding.columns));
    const std::uint64_t size = file->bytes().size();
    if (part.offset > size || bytes > size - part.offset)
      return corrupt("[{}] expected {} bytes at {} for {} rows of {} in {}, got a file of {}", path,
                     bytes, part.offset, part.rows, embedding.columns, dtype_name(embedding.dtype),
                     size);
    end += part.rows;
    embedding_.push_back({end, file->bytes().subspan(part.offset, bytes)});
    embedding_files_.push_back(std::move(file));
  }
  return {};
}

Status Model::load_text(const std::string& template_file) {
  if (!is_file(join(path_, "tokenizer.json"))) return {};
  ANEMONE_ASSIGN_OR_RETURN(tokenizer_, text::Tokenizer::load(path_));
  auto source = text::find_chat_template(path_, template_file);
  if (!source.ok()) return source.status().code() == Code::kNotFound ? Status() : source.status();
  chat_source_ = *std::move(source);
  chat_template_ = text::ChatTemplate::parse(chat_source_->source);
  if (chat_source_->tool_use.has_value())
    tool_template_ = text::ChatTemplate::parse(*chat_source_->tool_use);
  return template_file.empty() ? Status() : chat_template_->status().with(template_file);
}

Result<std::string> Model::render_chat(const Json& messages, bool add_generation_prompt,
                                       const Json& variables) const {
  if (!has_chat_template())
    return not_found("[{}] expected a model with a chat template, got one without", path_);
  Json context = Json::object();
  context["messages"] = messages;
  context["add_generation_prompt"] = add_generation_prompt;
  if (chat_source_->bos_token) context["bos_token"] = *chat_source_->bos_token;
  if (chat_source_->eos_token) context["eos_token"] = *chat_source_->eos_token;
  for (const auto& [name, value] : variables.items()) context[name] = value;
  const bool has_tools = json_member(context, "tools") != nullptr;
  const auto& chosen = has_tools && tool_template_ ? *tool_template_ : *chat_template_;
  if (!chosen.ok()) return chosen.status().with("chat template of " + path_);
  return chosen->render(context);
}

bool Model::is_eos(std::int32_t id) const {
  return std::ranges::find(manifest_.eos_ids, id) != manifest_.eos_ids.end();
}

Status Model::check_id(std::int32_t id) const {
  if (id >= 0 && id < manifest_.embedding.rows) return {};
  return invalid_argument("[{}] expected a token id from 0 to {}, got {}", manifest_.name,
                          manifest_.embedding.rows - 1, id);
}

// Columns of [1, hidden, T, 1] from rows of the embedding.
template <typename From, typename To>
void Model::embed_as(std::span<const std::int32_t> ids, std::span<To> out) const {
  const auto columns = static_cast<std::size_t>(manifest_.hidden_size);
  const std::size_t tokens = out.size() / columns;
  for (std::size_t t = 0; t < tokens; ++t) {
    const std::int64_t id = ids[std::min(t, ids.size() - 1)];
    std::size_t part = 0;
    while (id >= embedding_[part].end) ++part;
    const std::int64_t begin = part == 0 ? 0 : embedding_[part - 1].end;
    const auto* row = reinterpret_cast<const From*>(embedding_[part].bytes.data()) +
                      static_cast<std::size_t>(id - begin) * columns;
    scatter(std::span(row, columns), out, t, tokens);
  }
}

void Model::embed(std::span<const std::int32_t> ids, const MutableTensorView& hidden) const {
  ANEMONE_CHECK(!ids.empty());
  const bool from_half = manifest_.embedding.dtype == DType::kFp16;
  const bool to_halves = hidden.dtype == DType::kFp16;
  if (from_half && to_halves)
    embed_as<Half>(ids, hidden.as<Half>());
  else if (from_half)
    embed_as<Half>(ids, hidden.as<float>());
  else if (to_halves)
    embed_as<float>(ids, hidden.as<Half>());
  else
    embed_as<float>(ids, hidden.as<float>());
}

}  // namespace anemone::engine
