// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <unistd.h>

#include "base/error.h"
#include "base/escape.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/run.h"
#include "engine/chat/conversation.h"

namespace anemone::cli {
namespace {

constexpr std::string_view kHelp =
    "/help           this list\n"
    "/reset          forget the conversation\n"
    "/system TEXT    set the system message (without TEXT: show it) and forget the conversation\n"
    "/exit           leave (Ctrl-D too); Ctrl-C stops an answer\n";

// Reads lines from stdin. On a terminal it prompts, and two Ctrl-C in a row end it.
class LineReader {
 public:
  explicit LineReader(bool is_terminal) : is_terminal_(is_terminal) {}
  ~LineReader() { std::free(buffer_); }
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // nullopt at the end; kIo when stdin cannot be read.
  Result<std::optional<std::string>> next() {
    bool was_interrupted = false;
    while (true) {
      if (is_terminal_) fmt::print(stderr, "> ");
      errno = 0;
      const ssize_t length = ::getline(&buffer_, &capacity_, stdin);
      if (length >= 0) {
        std::string line(buffer_, static_cast<std::size_t>(length));
        while (line.ends_with('\n') || line.ends_with('\r')) line.pop_back();
        return std::optional(std::move(line));
      }
      const bool has_failed = std::ferror(stdin) != 0 && errno != EINTR;
      if (has_failed) return errno_error("stdin", "read");
      if (!take_interrupt()) break;
      std::clearerr(stdin);
      if (!is_terminal_ || was_interrupted) break;
      was_interrupted = true;
      fmt::print(stderr, "\n(Ctrl-C again or Ctrl-D to leave)\n");
    }
    if (is_terminal_) fmt::print(stderr, "\n");
    return std::optional<std::string>();
  }

 private:
  bool is_terminal_;
  char* buffer_ = nullptr;
  std::size_t capacity_ = 0;
};

enum class Command { kNone, kDone, kExit };

// What starts with / on a terminal is for us, not for the model.
Command obey(std::string_view line, engine::Conversation& conversation) {
  if (!line.starts_with('/')) return Command::kNone;
  const std::size_t space = line.find(' ');
  const std::string_view name = line.substr(0, space);
  const std::string_view rest = space == line.npos ? std::string_view() : line.substr(space + 1);
  if (name == "/exit" || name == "/quit") return Command::kExit;
  if (name == "/reset") {
    conversation.clear();
    fmt::print(stderr, "(forgotten)\n");
  } else if (name == "/system" && rest.empty()) {
    fmt::print(stderr, "{}\n",
               conversation.system().empty() ? "(none)" : escaped(conversation.system()));
  } else if (name == "/system") {
    conversation.set_system(std::string(rest));
    conversation.clear();
    fmt::print(stderr, "(set; the conversation is forgotten)\n");
  } else {
    if (name != "/help") fmt::print(stderr, "(no such command: {})\n", escaped(name));
    fmt::print(stderr, "{}", kHelp);
  }
  return Command::kDone;
}

Status answer(const RunOptions& options, engine::Conversation& conversation,
              const std::string& line, bool is_terminal) {
  ANEMONE_ASSIGN_OR_RETURN(engine::GenerateOptions generate,
                           generate_options(options, conversation.model()));
  AnswerPrinter printer(generate, !options.as_json);
  auto result = conversation.answer(line, generate);
  const Status printed = printer.finish();
  const bool stopped = take_interrupt();
  ANEMONE_RETURN_IF_ERROR(printed);
  if (!result.ok()) return result.status();
  if (options.as_json) return print_json(result_json(*result, generate));
  if (stopped && !is_terminal) return cancelled("[run] interrupted");
  if (stopped) fmt::print(stderr, "(stopped)\n");
  print_stats(*result);
  return {};
}

}  // namespace

Status run_chat(const RunOptions& options, std::shared_ptr<const engine::Model> model,
                const engine::SpeculationOptions& speculation) {
  const bool is_terminal = ::isatty(STDIN_FILENO) != 0;
  if (is_terminal)
    fmt::print(stderr, "{}: /help lists the commands, Ctrl-D leaves\n",
               escaped(model->manifest().name));
  engine::Engine engine({.speculation = speculation});
  ANEMONE_ASSIGN_OR_RETURN(auto conversation,
                           engine::Conversation::create(engine, std::move(model)));
  conversation.set_system(options.system);
  LineReader reader(is_terminal);
  while (true) {
    ANEMONE_ASSIGN_OR_RETURN(const auto line, reader.next());
    if (!line) return {};
    if (line->find_first_not_of(" \t") == std::string::npos) continue;
    if (is_terminal) {
      const Command command = obey(*line, conversation);
      if (command == Command::kExit) break;
      if (command == Command::kDone) continue;
    }
    const Status status = answer(options, conversation, *line, is_terminal);
    if (status.ok()) continue;
    // A person can go on after an error (a full context, say); a script cannot see it.
    if (!is_terminal || stdout_is_closed()) return status;
    const std::string text = error_line(status.message());
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
  return {};
}

}  // namespace anemone::cli
