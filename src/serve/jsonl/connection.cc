// SPDX-License-Identifier: Apache-2.0
#include "serve/jsonl/connection.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.h"
#include "engine/chat/conversation.h"
#include "engine/constraint/stage_counts.h"

namespace anemone::serve::jsonl {
namespace {

// Tokens of an answer whose request does not say how many.
constexpr std::int64_t kDefaultNew = 50;
// While a text is made, the client is looked at so often.
constexpr std::chrono::milliseconds kLookAgain{50};

Result<std::vector<std::int32_t>> prompt_ids(Request& request, const engine::Model& model,
                                             WorkBudget& budget) {
  if (const auto* ids = std::get_if<Request::Ids>(&request.prompt)) return *ids;
  if (model.tokenizer() == nullptr)
    return unsupported("[prompt_ids] expected token ids for a model without a tokenizer");
  if (auto* messages = std::get_if<Request::Messages>(&request.prompt))
    return engine::chat_prompt(model, std::move(messages->messages), Json::object(), &budget);
  return model.tokenizer()->encode(std::get<Request::Text>(request.prompt).text,
                                   {.add_special = request.has_reset, .budget = &budget});
}

Json answer_of(const Request& request, const engine::GenerateResult& result,
               std::size_t text_tokens) {
  const engine::Timing& timing = result.timing;
  const std::int64_t prefill_tokens = timing.prompt_tokens - timing.reused_tokens;
  if (request.is_token_form)
    return {{"output", result.ids},
            {"prefill_tps", timing.prefill_tok_s()},
            {"decode_tps", timing.decode_tok_s()},
            {"prompt_tokens", timing.prompt_tokens},
            {"gen_tokens", result.ids.size()}};
  return {{"ok", true},
          {"generated_ids", result.ids},
          {"text", result.text},
          {"finish_reason", engine::finish_reason_name(result.finish)},
          {"timing",
           {{"prompt_tokens", timing.prompt_tokens},
            {"prefill_tokens", prefill_tokens},
            {"prefill_s", timing.prefill_s},
            {"decode_tokens", timing.decode_steps + timing.accepted_tokens},
            {"decode_s", timing.decode_s},
            {"decode_tok_s", timing.decode_tok_s()}}},
          {"cache_seq_len", text_tokens}};
}

}  // namespace

Json ready_line(const ModelPool& models, std::string_view socket_path) {
  Json out = {{"ready", true},
              {"protocol", kProtocol},
              {"transport", socket_path.empty() ? "stdio" : "unix-socket"}};
  if (!socket_path.empty()) out["path"] = socket_path;
  Json& names = out["models"] = Json::array();
  for (std::size_t i = 0; i < models.size(); ++i)
    for (const std::string& name : models.names(i)) names.push_back(name);
  return out;
}

Json error_answer(const Status& status) {
  return {{"ok", false}, {"error", status.message()}, {"code", code_name(status.code())}};
}

Json Connection::answer(std::string_view line) {
  // The one place where a request ends that throws.
  try {
    auto out = run(line);
    return out.ok() ? *std::move(out) : error_answer(out.status());
  } catch (const std::bad_alloc&) {
    return error_answer(out_of_memory("[request] there is not enough memory to answer it"));
  } catch (const std::exception& error) {
    return error_answer(internal_error("[server] failed on this request: {}", error.what()));
  }
}

Result<engine::GenerateResult> Connection::generate(
    const std::shared_ptr<const engine::Model>& model, std::vector<std::int32_t> prompt,
    engine::GenerateOptions options, bool is_streamed) {
  struct End {
    std::mutex mutex;
    std::condition_variable came;
    std::string unsent;  // text that came and was not sent yet
    std::optional<Result<engine::GenerateResult>> result;
  };
  // The engine holds it, too: it ends the text even when this thread throws.
  const auto end = std::make_shared<End>();
  // Set when this call ends, for whatever reason.
  const auto cancel = std::make_shared<std::atomic<bool>>(false);
  const struct AtTheEnd {
    std::atomic<bool>& flag;
    ~AtTheEnd() { flag = true; }
  } set_at_the_end{*cancel};
  options.cancel = cancel.get();
  // The thread of the engine must not wait for a client that reads slowly.
  if (is_streamed)
    options.on_piece = [end](const engine::TextPiece& piece) {
      {
        const std::lock_guard lock(end->mutex);
        end->unsent += piece.text;
      }
      end->came.notify_one();
      return Status();
    };
  engine::Request request;
  request.model = model;
  request.cancel = cancel;
  request.choices.push_back(
      {std::move(prompt), std::move(options), [end](Result<engine::GenerateResult> result) {
         {
           const std::lock_guard lock(end->mutex);
           end->result = std::move(result);
         }
         end->came.notify_one();
       }});
  ANEMONE_RETURN_IF_ERROR(engine_.submit(std::move(request)));
  std::unique_lock lock(end->mutex);
  while (true) {
    end->came.wait_for(lock, kLookAgain, [&] { return end->result || !end->unsent.empty(); });
    if (!end->unsent.empty()) {
      const std::string text = std::exchange(end->unsent, "");
      lock.unlock();
      ANEMONE_RETURN_IF_ERROR(send_({{"delta", text}}));
      lock.lock();
    } else if (end->result) {
      return *std::move(end->result);
    }
    look_();
    if (cancel_) *cancel = true;
  }
}

Result<ModelLease> Connection::lease(std::size_t model) {
  return models_.lease(model, [&] {
    look_();
    return cancel_.load();
  });
}

Result<Json> Connection::describe(std::string_view name) {
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t index, models_.find(name));
  ANEMONE_ASSIGN_OR_RETURN(const ModelLease served, lease(index));
  const engine::Model& model = *served->model;
  ANEMONE_ASSIGN_OR_RETURN(const std::string digest, artifact::manifest_digest(model.path()));
  return Json{{"ok", true},
              {"model", served->names.front()},
              {"context", model.context()},
              {"has_tokenizer", model.tokenizer() != nullptr},
              {"has_chat_template", model.has_chat_template()},
              {"labels_tokens", model.manifest().classifies()},
              {"manifest_sha256", digest}};
}

Result<Json> Connection::run(std::string_view line) {
  WorkBudget budget("request", budget_, &cancel_);
  ANEMONE_ASSIGN_OR_RETURN(Request request, parse_request(line, &budget));
  if (const auto* asked = std::get_if<Request::Describe>(&request.prompt))
    return describe(asked->model);
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t index, models_.find(request.model));
  // Until the answer is there.
  ANEMONE_ASSIGN_OR_RETURN(const ModelLease served, lease(index));
  if (request.keep_alive) models_.set_keep_alive(index, request.keep_alive->time);
  const engine::Model& model = *served->model;
  ANEMONE_ASSIGN_OR_RETURN(const auto given, prompt_ids(request, model, budget));
  ANEMONE_RETURN_IF_ERROR(budget.check());
  ANEMONE_ASSIGN_OR_RETURN(engine::GenerateOptions options,
                           engine::resolve_request(request, defaults_, model, kDefaultNew));
  const engine::SamplingOptions sampling = options.sampling;
  std::vector<std::int32_t>& text = texts_[index];
  if (request.has_reset) text.clear();
  std::vector<std::int32_t> prompt = text;
  prompt.insert(prompt.end(), given.begin(), given.end());
  ANEMONE_ASSIGN_OR_RETURN(
      const auto result, generate(served->model, prompt, std::move(options), request.is_streamed));
  if (result.finish == engine::FinishReason::kCancelled)
    return cancelled("[request] was cancelled before its answer was complete");
  text = std::move(prompt);
  if (!result.ids.empty()) text.insert(text.end(), result.ids.begin(), result.ids.end() - 1);
  Json out = answer_of(request, result, text.size());
  if (request.is_token_form) return out;
  out["model"] = served->names.front();
  if (!sampling.is_greedy()) out["seed"] = sampling.seed;
  if (!result.stop.empty()) out["stop"] = result.stop;
  if (result.stages) out["structured_cot"] = engine::stage_counts_json(*result.stages);
  return out;
}

}  // namespace anemone::serve::jsonl
