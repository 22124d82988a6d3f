// SPDX-License-Identifier: Apache-2.0
// A compiled model, ready to run: the packages of an artifact, its embeddings and its text side.
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/manifest.h"
#include "base/work_budget.h"
#include "engine/constraint/constraints.h"
#include "engine/model/embedding_table.h"
#include "engine/model/function_plan.h"
#include "engine/model/step_inputs.h"
#include "exec/executor.h"
#include "text/chat/chat_template.h"
#include "text/chat/chat_template_source.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tools/answer_syntax.h"

namespace anemone::engine {

struct ModelLoadOptions {
  bool load_text = true;  // the tokenizer and the chat template, where the artifact has them
  std::string chat_template_file;  // instead of the artifact's; must be a good template
  bool check_hashes = false;       // of every file; sizes are always checked
  // Ends the load with kCancelled before its next package once it is set. May be null; outlives the
  // load.
  const std::atomic<bool>* cancel = nullptr;
  // Called before each package and once at the end (done == total), from the calling thread.
  std::function<void(std::size_t done, std::size_t total, std::string_view package)> on_progress;
};

// Immutable and thread-safe; shared by sessions.
class Model {
 public:
  // Reads the manifest, checks the sizes of all files, loads every package and compares its
  // functions with the manifest. kNotFound when the folder is no artifact, kCorrupt when a package
  // does not fit the manifest. An artifact without a tokenizer still runs on ids.
  static Result<std::shared_ptr<const Model>> load(const std::string& artifact_dir,
                                                   exec::Executor& executor,
                                                   const ModelLoadOptions& options = {});

  // kUnsupported for a model that labels tokens: it has no sessions (classifier.h).
  Status check_generates() const;

  const std::string& path() const { return path_; }
  const artifact::Manifest& manifest() const { return manifest_; }
  std::int64_t context() const { return manifest_.context; }
  // Columns of the logits.
  std::int64_t vocab_size() const { return manifest_.vocab_size; }
  bool is_eos(std::int32_t id) const;

  // Null when the artifact has none, or load_text was off.
  const std::shared_ptr<const text::Tokenizer>& tokenizer() const { return tokenizer_; }
  bool has_chat_template() const { return chat_source_.has_value(); }
  // The chat template of the artifact; nullopt if it has none.
  const std::optional<text::ChatTemplateSource>& chat_template_source() const {
    return chat_source_;
  }
  // How the model writes reasoning and calls of tools, as its chat template for tools tells.
  const text::AnswerSyntax& answer_syntax() const { return answer_syntax_; }
  // The template for chats with tools; null without a chat template.
  const std::string* tool_template_text() const {
    return chat_source_ ? &chat_source_->for_tools(true) : nullptr;
  }
  // What constrains the texts of requests; shared by all of them.
  Constraints& constraints() const { return *constraints_; }
  // Messages ([{"role", "content"}, ...]) as the text of a prompt. `variables` are more variables
  // of the template; "tools" chooses the template for tools. kNotFound when there is no template;
  // what is wrong with a template is said here and not at load, since ids run without it. The work
  // counts against the budget, which may be null.
  Result<std::string> render_chat(Json messages, bool add_generation_prompt, Json variables,
                                  WorkBudget* budget = nullptr) const;

  // Whether a layer keeps a recurrent state, so that its caches cannot be truncated.
  bool keeps_recurrent_states() const;
  // Whether the executor reads the weights of the shards once for the runs of a batch.
  bool reads_weights_once() const;
  // The functions of the shards. Every step has one that takes it; at the end of the context that
  // is the one for a single token.
  const std::vector<FunctionPlan>& functions() const { return functions_; }
  const exec::LoadedProgram& shard(std::size_t index) const { return *shards_[index]; }
  // The heads of each package that has nothing else (Manifest::head_packages()), and its program.
  const std::vector<std::span<const artifact::Head>>& head_packages() const {
    return head_packages_;
  }
  const exec::LoadedProgram& head_program(std::size_t package) const { return *heads_[package]; }
  // The package of Manifest::embed, which is made runnable when it first runs; null: there is none.
  const exec::LoadedProgram* embed_program() const { return embed_.get(); }
  // The packages of Experts::packs, in their order; each function is made runnable when it first
  // runs.
  const std::vector<std::shared_ptr<const exec::LoadedProgram>>& expert_packs(
      std::size_t shard) const {
    return expert_packs_[shard];
  }

  // kInvalidArgument unless 0 <= id < rows of the embedding.
  Status check_id(std::int32_t id) const;
  // kInvalidArgument for a prompt without tokens, with an id outside the vocabulary, or longer than
  // the context. kUnsupported where the logits of its tokens are wanted and there are none.
  Status check_prompt(std::span<const std::int32_t> ids, bool wants_logits) const;
  // kUnsupported for a model that does not give hidden states: it has no Manifest::embed.
  Status check_gives_hidden() const;
  // Writes the embeddings of `ids` (each checked before) in the model's layout, as fp16 or fp32.
  // Columns after the last id repeat it. 1 <= ids.size() <= T. kIo when a file of embeddings was
  // cut.
  Status embed(std::span<const std::int32_t> ids, const MutableTensorView& hidden) const;
  // Writes the embeddings that other inputs of the step need.
  Status embed(std::span<const std::int32_t> ids, StepInputs& inputs) const;

 private:
  Model() = default;
  Status load_packages(exec::Executor& executor, const ModelLoadOptions& options);
  Status load_embeddings();
  Status load_text(const std::string& template_file);

  std::string path_;
  artifact::Manifest manifest_;
  std::vector<FunctionPlan> functions_;
  std::vector<std::shared_ptr<const exec::LoadedProgram>> shards_;
  std::vector<std::span<const artifact::Head>> head_packages_;  // of manifest_
  std::vector<std::shared_ptr<const exec::LoadedProgram>> heads_;
  std::shared_ptr<const exec::LoadedProgram> embed_;
  std::vector<std::vector<std::shared_ptr<const exec::LoadedProgram>>> expert_packs_;  // [shard]
  EmbeddingTable embedding_;
  std::optional<EmbeddingTable> layer_embedding_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::unique_ptr<Constraints> constraints_;
  std::optional<text::ChatTemplateSource> chat_source_;
  text::AnswerSyntax answer_syntax_;
  std::optional<Result<text::ChatTemplate>> chat_template_;
  std::optional<Result<text::ChatTemplate>> tool_template_;
};

}  // namespace anemone::engine
