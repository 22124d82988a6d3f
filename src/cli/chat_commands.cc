// SPDX-License-Identifier: Apache-2.0
#include "cli/chat_commands.h"

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/output.h"
#include "cli/usage.h"

namespace anemone::cli {
namespace {

constexpr std::string_view kHelp =
    "/?, /help         this list\n"
    "/set NAME VALUE   how answers are picked: temperature, top-k, top-p, min-p, seed, max-new,\n"
    "                  repetition-penalty (without VALUE: as the model has it)\n"
    "/system TEXT      set the system message (without TEXT: show it) and forget the conversation\n"
    "/regenerate       answer the last message again\n"
    "/save FILE        write the conversation to a file\n"
    "/load FILE        go on with a conversation that was saved\n"
    "/reset, /clear    forget the conversation\n"
    "/bye, /exit       leave (Ctrl-D too); Ctrl-C stops an answer\n"
    "\"\"\"               begins and ends a message of several lines; a paste needs none\n";

template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print(stderr, "({})\n", escaped(fmt::format(format, std::forward<Args>(args)...)));
}

void say_error(const Status& status) {
  const std::string text = error_line(status.message());
  std::fwrite(text.data(), 1, text.size(), stderr);
}

template <typename T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Sets a number between two bounds, or takes it away where there is no text.
template <typename T>
Status set(std::string_view name, std::string_view text, T least, T most, std::string_view span,
           std::optional<T>& target) {
  if (text.empty()) {
    target.reset();
    return {};
  }
  const auto value = number<T>(text);
  if (!value || !(*value >= least && *value <= most))
    return invalid_argument("[{}] expected {}, got {}", name, span, shortened(text, 40));
  target = *value;
  return {};
}

Status save(const std::string& file, const engine::Conversation& conversation) {
  if (file.empty()) return invalid_argument("[/save] expected a file, got none");
  ANEMONE_RETURN_IF_ERROR(
      write_file(file, dump_json(Json{{"messages", conversation.messages()}}, 2) + "\n"));
  say("saved to {}", file);
  return {};
}

Status load(const std::string& file, engine::Conversation& conversation) {
  if (file.empty()) return invalid_argument("[/load] expected a file, got none");
  ANEMONE_ASSIGN_OR_RETURN(const Json json, read_json_file(file));
  const Json* messages = json_member(json, "messages");
  if (messages == nullptr)
    return parse_error("[{}] expected an object with messages, got none", file);
  ANEMONE_RETURN_IF_ERROR(conversation.set_messages(*messages));
  say("{} messages of {}", messages->size(), file);
  return {};
}

void set_system(std::string_view text, engine::Conversation& conversation) {
  if (text.empty()) {
    fmt::print(stderr, "{}\n",
               conversation.system().empty() ? "(none)" : escaped_lines(conversation.system()));
    return;
  }
  conversation.set_system(std::string(text));
  conversation.clear();
  say("set; the conversation is forgotten");
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") + 1 - begin);
}

}  // namespace

Status set_parameter(std::string_view words, RunOptions& options) {
  const std::size_t space = words.find(' ');
  std::string name(words.substr(0, space));
  const std::string_view value = space == words.npos ? "" : trimmed(words.substr(space));
  for (char& c : name)
    if (c == '_') c = '-';
  engine::SamplingRequest& sampling = options.text.sampling;
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const bool is_pick =
      name == "temperature" || name == "top-k" || name == "top-p" || name == "min-p";
  // It would have no effect beside --greedy.
  if (is_pick && !value.empty()) sampling.is_greedy = false;
  if (name == "temperature") return set(name, value, 0.0, 100.0, "0 to 100", sampling.temperature);
  if (name == "top-k")
    return set(name, value, std::int64_t{0}, kMost, "a whole number of at least 0", sampling.top_k);
  if (name == "top-p") return set(name, value, 0.0, 1.0, "0 to 1", sampling.top_p);
  if (name == "min-p") return set(name, value, 0.0, 1.0, "0 to 1", sampling.min_p);
  if (name == "repetition-penalty")
    return set(name, value, 0.01, 100.0, "0.01 to 100", sampling.repetition_penalty);
  if (name == "seed")
    return set(name, value, std::uint64_t{0}, std::uint64_t(INT64_MAX),
               "a whole number of at least 0", sampling.seed);
  if (name == "max-new" || name == "num-predict")
    return set(name, value, std::int64_t{0}, kMost, "a whole number of at least 0",
               options.text.max_tokens);
  const std::vector<std::string> names = {
      "temperature", "top-k", "top-p", "min-p", "seed", "max-new", "repetition-penalty"};
  return invalid_argument(
      "[/set] expected temperature, top-k, top-p, min-p, seed, max-new or repetition-penalty, got "
      "{}{}",
      shortened(name, 40), did_you_mean(name, names));
}

ChatCommand obey(std::string_view line, RunOptions& options, engine::Conversation& conversation) {
  using Kind = ChatCommand::Kind;
  // Several lines are a text, such as a file that begins with a path.
  if (!line.starts_with('/') || line.find('\n') != line.npos) return {};
  const std::size_t space = line.find(' ');
  const std::string_view name = line.substr(0, space);
  const std::string_view rest =
      space == line.npos ? std::string_view() : trimmed(line.substr(space));
  if (name == "/exit" || name == "/quit" || name == "/bye") return {Kind::kExit, ""};
  Status status;
  if (name == "/reset" || name == "/clear") {
    conversation.clear();
    say("forgotten");
  } else if (name == "/system") {
    set_system(rest, conversation);
  } else if (name == "/set") {
    status = set_parameter(rest, options);
    if (status.ok()) say("set");
  } else if (name == "/save") {
    status = save(std::string(rest), conversation);
  } else if (name == "/load") {
    status = load(std::string(rest), conversation);
  } else if (name == "/regenerate") {
    if (!conversation.is_empty()) return {Kind::kAnswer, conversation.take_last()};
    say("there is no answer yet");
  } else {
    if (name != "/help" && name != "/?")
      say("no such command {}{}", name,
          did_you_mean(name, {"/help", "/set", "/system", "/regenerate", "/save", "/load", "/reset",
                              "/clear", "/bye", "/exit"}));
    fmt::print(stderr, "{}", kHelp);
  }
  if (!status.ok()) say_error(status);
  return {Kind::kDone, ""};
}

}  // namespace anemone::cli
