// SPDX-License-Identifier: Apache-2.0
#include "serve/jsonl/connection.h"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "engine/generation/conversation.h"
#include "engine/generation/generator.h"

namespace anemone::serve::jsonl {
namespace {

// Tokens of an answer whose request does not say how many.
constexpr std::int64_t kDefaultNew = 50;

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
               const engine::Session& session) {
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
           {{"prefill_tokens", prefill_tokens},
            {"prefill_s", timing.prefill_s},
            {"decode_tokens", timing.decode_steps},
            {"decode_s", timing.decode_s},
            {"decode_tok_s", timing.decode_tok_s()}}},
          {"cache_seq_len", session.position()}};
}

}  // namespace

Json ready_line(const ModelSet& models, std::string_view socket_path) {
  Json out = {{"ready", true},
              {"protocol", kProtocol},
              {"transport", socket_path.empty() ? "stdio" : "unix-socket"}};
  if (!socket_path.empty()) out["path"] = socket_path;
  Json& names = out["models"] = Json::array();
  for (const ServedModel& model : models.models())
    for (const std::string& name : model.names) names.push_back(name);
  return out;
}

Json error_answer(const Status& status) {
  return {{"ok", false}, {"error", status.message()}};
}

Result<engine::Session*> Connection::session_of(const std::shared_ptr<const engine::Model>& model) {
  auto& session = sessions_[model.get()];
  if (session == nullptr) {
    ANEMONE_ASSIGN_OR_RETURN(session, engine::Session::create(model));
  }
  return session.get();
}

Json Connection::answer(std::string_view line) {
  // The one place where a request ends that throws.
  try {
    auto out = run(line);
    return out.ok() ? *std::move(out) : error_answer(out.status());
  } catch (const std::bad_alloc&) {
    sessions_.clear();  // in the middle of anything
    return error_answer(out_of_memory("[request] there is not enough memory to answer it"));
  } catch (const std::exception& error) {
    sessions_.clear();
    return error_answer(internal_error("[server] failed on this request: {}", error.what()));
  }
}

Result<Json> Connection::run(std::string_view line) {
  WorkBudget budget("request", budget_, &cancel_);
  ANEMONE_ASSIGN_OR_RETURN(Request request, parse_request(line, &budget));
  const ServedModel* served = &models_.models().front();
  if (!request.model.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(served, models_.find(request.model));
  }
  const engine::Model& model = *served->model;
  ANEMONE_ASSIGN_OR_RETURN(engine::Session* const session, session_of(served->model));
  ANEMONE_ASSIGN_OR_RETURN(const auto given, prompt_ids(request, model, budget));
  ANEMONE_RETURN_IF_ERROR(budget.check());
  std::vector<std::int32_t> prompt;
  if (request.has_reset)
    session->reset();
  else
    prompt = session->tokens();
  prompt.insert(prompt.end(), given.begin(), given.end());

  engine::GenerateOptions options;
  ANEMONE_ASSIGN_OR_RETURN(options.sampling, resolve_request(request.sampling, defaults_, model));
  options.max_new_tokens = request.max_new.value_or(defaults_.max_tokens.value_or(kDefaultNew));
  if (defaults_.max_tokens)
    options.max_new_tokens = std::min(options.max_new_tokens, *defaults_.max_tokens);
  options.stop = request.stop;
  options.stop_repeat_ngram = request.stop_repeat_ngram;
  options.ignore_eos = request.ignore_eos;
  options.cancel = &cancel_;
  options.on_piece = [&](const engine::TextPiece& /*piece*/) {
    on_step_();
    return Status();
  };
  options.on_prefill_progress = [&](std::int64_t /*done*/, std::int64_t /*total*/) { on_step_(); };
  ANEMONE_ASSIGN_OR_RETURN(const auto result, engine::generate(*session, prompt, options));
  if (result.finish == engine::FinishReason::kCancelled)
    return cancelled("[request] was cancelled before its answer was complete");
  return answer_of(request, result, *session);
}

}  // namespace anemone::serve::jsonl
