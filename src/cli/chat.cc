// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <string_view>
#include <unistd.h>

#include "base/error.h"
#include "base/escape.h"
#include "base/terminal.h"
#include "cli/chat_commands.h"
#include "cli/interrupt.h"
#include "cli/line_editor.h"
#include "cli/output.h"
#include "cli/run.h"
#include "engine/chat/conversation.h"
#include "engine/chat/truncation.h"

namespace anemone::cli {
namespace {

constexpr std::string_view kQuotes = "\"\"\"";

class Chat {
 public:
  Chat(RunOptions options, engine::Conversation conversation)
      : options_(std::move(options)),
        conversation_(std::move(conversation)),
        is_terminal_(::isatty(STDIN_FILENO) != 0),
        editor_(make_line_editor()) {}

  Status run() {
    if (is_terminal_) {
      catch_interrupts(InterruptMode::kStopsAnswer);
      print_err("{}: /? lists the commands, Ctrl-D leaves\n",
                styled(escaped(model().manifest().name), Style::kBold, STDERR_FILENO));
    }
    while (true) {
      ANEMONE_ASSIGN_OR_RETURN(const bool has_message, read_message());
      if (!has_message) return {};
      if (message_.find_first_not_of(" \t\n") == std::string::npos) continue;
      if (is_terminal_) {
        editor_->remember(message_);
        ChatCommand command = obey(message_, options_, conversation_);
        if (command.kind == ChatCommand::Kind::kExit) return {};
        if (command.kind == ChatCommand::Kind::kDone) continue;
        if (command.kind == ChatCommand::Kind::kAnswer) message_ = std::move(command.text);
      }
      const Status status = answer();
      if (status.ok()) continue;
      // A person can go on after an error; a script cannot see it.
      if (!is_terminal_ || stdout_is_closed()) return status;
      print_error(status.message());
    }
  }

 private:
  const engine::Model& model() const { return conversation_.model(); }

  // The next message; false at the end. Two Ctrl-C in a row end the process; after the first one
  // the message begins anew.
  Result<bool> read_message() {
    using Outcome = LineEditor::Outcome;
    while (true) {
      ANEMONE_ASSIGN_OR_RETURN(const Outcome outcome, read_lines());
      if (outcome == Outcome::kText) return true;
      if (outcome == Outcome::kEnd) {
        if (is_terminal_) print_err("\n");
        return false;
      }
      if (!is_terminal_ || was_interrupted_) end_interrupted();
      was_interrupted_ = true;
      print_err("\n(Ctrl-C again or Ctrl-D to leave)\n");
    }
  }

  // A message of one line, a paste, or the lines between two """.
  Result<LineEditor::Outcome> read_lines() {
    using Outcome = LineEditor::Outcome;
    ANEMONE_ASSIGN_OR_RETURN(Outcome outcome, read_text("> "));
    message_ = text_;
    if (outcome != Outcome::kText || !is_terminal_ || !message_.starts_with(kQuotes))
      return outcome;
    message_.erase(0, kQuotes.size());
    while (!message_.ends_with(kQuotes)) {
      ANEMONE_ASSIGN_OR_RETURN(outcome, read_text("... "));
      if (outcome != Outcome::kText) return outcome;
      message_ += "\n" + text_;
    }
    message_.resize(message_.size() - kQuotes.size());
    while (message_.starts_with('\n')) message_.erase(0, 1);
    return outcome;
  }

  Result<LineEditor::Outcome> read_text(const std::string& prompt) {
    text_.clear();
    ANEMONE_ASSIGN_OR_RETURN(const auto outcome, editor_->read(prompt, text_));
    if (outcome == LineEditor::Outcome::kText) was_interrupted_ = false;
    return outcome;
  }

  // With --keep-system all turns before the message can go, and the message alone is too long.
  Status full() const {
    if (options_.keeps_system)
      return invalid_argument(
          "[context] this message takes more than the {} tokens of the context: run --context N "
          "compiles a checkpoint for more",
          model().context());
    return invalid_argument(
        "[context] the conversation and this message take more than the {} tokens of the context: "
        "/reset begins anew, run --keep-system forgets the oldest turns by itself, and run "
        "--context N compiles a checkpoint for more",
        model().context());
  }

  // Makes room for the message and an answer, by forgetting the oldest turns where that was asked
  // for.
  Status make_room() {
    const std::int64_t limit = options_.keeps_system
                                   ? engine::prompt_limit(model(), options_.text.max_tokens)
                                   : std::numeric_limits<std::int64_t>::max();
    Json messages = conversation_.messages();
    messages.push_back(Json{{"role", "user"}, {"content", message_}});
    ANEMONE_ASSIGN_OR_RETURN(
        const engine::FittedPrompt fitted,
        engine::fit_chat_prompt(model(), messages, Json::object(), limit, nullptr));
    if (std::ssize(fitted.ids) >= model().context()) return full();
    for (std::int64_t i = 0; i < fitted.dropped_turns; ++i) conversation_.drop_oldest();
    if (fitted.dropped_turns > 0 && !has_told_of_drops_) {
      has_told_of_drops_ = true;
      print_err("(the context is full: from now on the oldest turns are forgotten)\n");
    }
    return {};
  }

  Status answer() {
    ANEMONE_RETURN_IF_ERROR(make_room());
    ANEMONE_ASSIGN_OR_RETURN(engine::GenerateOptions generate,
                             generate_options(options_, conversation_.model()));
    AnswerPrinter printer(generate, !options_.as_json);
    Result<engine::GenerateResult> result = [&] {
      const std::optional<EchoOff> quiet =
          is_terminal_ ? std::optional<EchoOff>(std::in_place) : std::nullopt;
      return conversation_.answer(message_, generate);
    }();
    const Status printed = printer.finish();
    if (!is_terminal_ && is_interrupted()) return cancelled("[run] interrupted");
    const bool has_stopped = take_interrupt();
    ANEMONE_RETURN_IF_ERROR(printed);
    if (!result.ok()) {
      if (!has_stopped || result.status().code() != Code::kCancelled) return result.status();
      print_err("(stopped)\n");
      return {};
    }
    if (options_.as_json) return print_json(result_json(*result, generate));
    if (has_stopped) print_err("(stopped)\n");
    const engine::Timing& timing = result->timing;
    // The last token that a full context gives takes no position in it.
    const std::int64_t used = std::min(timing.prompt_tokens + timing.new_tokens, model().context());
    print_stats(*result, fmt::format("; context {} of {}", used, model().context()));
    if (is_terminal_ && used >= model().context())
      print_err("(the context is full, so the answer ends here: /reset begins anew)\n");
    else if (is_terminal_ && options_.text.max_tokens && !has_stopped &&
             result->finish == engine::FinishReason::kLength)
      print_err("(max-new ends the answer here)\n");
    return {};
  }

  RunOptions options_;
  engine::Conversation conversation_;
  const bool is_terminal_;
  std::unique_ptr<LineEditor> editor_;
  std::string text_;
  std::string message_;
  bool was_interrupted_ = false;
  bool has_told_of_drops_ = false;
};

}  // namespace

Status run_chat(const RunOptions& options, std::shared_ptr<const engine::Model> model,
                const engine::SpeculationOptions& speculation) {
  engine::Engine engine({.speculation = speculation});
  ANEMONE_ASSIGN_OR_RETURN(auto conversation,
                           engine::Conversation::create(engine, std::move(model)));
  conversation.set_system(options.system);
  return Chat(options, std::move(conversation)).run();
}

}  // namespace anemone::cli
