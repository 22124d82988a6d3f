// SPDX-License-Identifier: Apache-2.0
#include "cli/chat_commands.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/json.h"
#include "base/parse_number.h"
#include "cli/output.h"
#include "cli/usage.h"

namespace anemone::cli {
namespace {

constexpr std::string_view kHelp =
    "/?, /help         this list\n"
    "/set              show the model and how answers are picked\n"
    "/set NAME VALUE   change it: temperature, top-k, top-p, min-p, seed, max-new,\n"
    "                  repetition-penalty (VALUE default: as the model has it)\n"
    "/system TEXT      set the system message and forget the conversation\n"
    "                  (without TEXT: show it)\n"
    "/regenerate       answer the last message again\n"
    "/save FILE        write the conversation to a file\n"
    "/load FILE        go on with a conversation that was saved\n"
    "/reset, /clear    forget the conversation\n"
    "/bye, /exit       leave (Ctrl-D too); Ctrl-C stops an answer\n"
    "\"\"\"               begins and ends a message of several lines; a paste needs none\n";

template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  print_err("({})\n", escaped(fmt::format(format, std::forward<Args>(args)...)));
}

// Sets a number between two bounds, or resets it if the text is "default".
template <typename T>
Status set(std::string_view name, std::string_view text, T least, T most, std::string_view span,
           std::optional<T>& target) {
  if (text == "default") {
    target.reset();
    return {};
  }
  const auto value = parse_number<T>(text);
  if (!value || !(*value >= least && *value <= most))
    return invalid_argument("[{}] expected {}, got {}", name, span, shortened(text, 40));
  target = *value;
  return {};
}

// True if save() may write to the file: it is not there, or holds a conversation that save() wrote.
bool may_be_replaced(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return true;
  const auto json = read_json_file(file);
  if (!json.ok()) return false;
  const Json* messages = json_member(*json, "messages");
  return messages != nullptr && messages->is_array();
}

Status save(const std::string& file, const engine::Conversation& conversation) {
  if (file.empty()) return invalid_argument("[/save] expected a file, got none");
  if (!may_be_replaced(file))
    return io_error("[{}] is not overwritten: it holds something other than a conversation", file);
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
  ANEMONE_RETURN_IF_ERROR(conversation.set_messages(*messages).with(file));
  say("{} message{} of {}", messages->size(), messages->size() == 1 ? "" : "s", file);
  return {};
}

void set_system(std::string_view text, engine::Conversation& conversation) {
  if (text.empty()) {
    print_err("{}\n",
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

constexpr std::array<std::string_view, 7> kParameters = {
    "temperature", "top-k", "top-p", "min-p", "seed", "max-new", "repetition-penalty"};

// The value that a parameter has now, such as "0.7".
struct ShownParameter {
  std::string value;
  bool is_set = false;  // the user set it; else it is the model's default
};

ShownParameter shown_parameter(std::string_view name, const RunOptions& options,
                               const engine::GenerateOptions& resolved) {
  const engine::SamplingRequest& asked = options.text.sampling;
  const engine::SamplingOptions& sampling = resolved.sampling;
  const auto text = [](const auto& value) { return fmt::format("{}", value); };
  if (name == "temperature")
    return {sampling.is_greedy() ? "0 (the most likely token)" : text(sampling.temperature),
            asked.temperature || asked.is_greedy};
  if (name == "top-k") return {text(sampling.top_k), asked.top_k.has_value()};
  if (name == "top-p") return {text(sampling.top_p), asked.top_p.has_value()};
  if (name == "min-p") return {text(sampling.min_p), asked.min_p.has_value()};
  if (name == "seed")
    return {asked.seed ? text(*asked.seed) : "another one for each answer", asked.seed.has_value()};
  if (name == "max-new")
    return {options.text.max_tokens ? text(*options.text.max_tokens) : "until the answer ends",
            options.text.max_tokens.has_value()};
  return {text(sampling.processors.repetition_penalty), asked.repetition_penalty.has_value()};
}

// The name that kParameters has for a name as people type it; empty if there is no such parameter.
std::string_view parameter_of(std::string name) {
  std::ranges::replace(name, '_', '-');
  if (name == "num-predict") name = "max-new";
  const auto found = std::ranges::find(kParameters, name);
  return found == kParameters.end() ? std::string_view() : *found;
}

Status set_value(std::string_view name, std::string_view value, RunOptions& options) {
  engine::SamplingRequest& sampling = options.text.sampling;
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  constexpr std::string_view kWhole = "a whole number of at least 0";
  if (name == "temperature") return set(name, value, 0.0, 100.0, "0 to 100", sampling.temperature);
  if (name == "top-k") return set(name, value, std::int64_t{0}, kMost, kWhole, sampling.top_k);
  if (name == "top-p") return set(name, value, 0.0, 1.0, "0 to 1", sampling.top_p);
  if (name == "min-p") return set(name, value, 0.0, 1.0, "0 to 1", sampling.min_p);
  if (name == "repetition-penalty")
    return set(name, value, 0.01, 100.0, "0.01 to 100", sampling.repetition_penalty);
  if (name == "seed")
    return set(name, value, std::uint64_t{0}, std::uint64_t(INT64_MAX), kWhole, sampling.seed);
  return set(name, value, std::int64_t{0}, kMost, kWhole, options.text.max_tokens);
}

}  // namespace

Result<std::string> set_parameter(std::string_view words, RunOptions& options,
                                  const engine::Model& model) {
  const std::size_t space = words.find(' ');
  const std::string given(words.substr(0, space));
  const std::string_view value = space == words.npos ? "" : trimmed(words.substr(space));
  const std::string_view name = parameter_of(given);
  if (!given.empty() && name.empty())
    return invalid_argument("[/set] expected one of {}, got {}{}", fmt::join(kParameters, ", "),
                            shortened(given, 40),
                            did_you_mean(given, {kParameters.begin(), kParameters.end()}));
  if (!value.empty()) {
    ANEMONE_RETURN_IF_ERROR(set_value(name, value, options));
    // With --greedy these values would have no effect.
    if (value != "default" &&
        (name == "temperature" || name.ends_with("-k") || name.ends_with("-p")))
      options.text.sampling.is_greedy = false;
  }
  ANEMONE_ASSIGN_OR_RETURN(const engine::GenerateOptions resolved,
                           generate_options(options, model));
  const auto line = [&](std::string_view parameter) {
    const ShownParameter now = shown_parameter(parameter, options, resolved);
    return fmt::format("{} {}{}", parameter, now.value, now.is_set ? "" : ", as the model has it");
  };
  if (!name.empty()) return line(name);
  std::string out =
      fmt::format("model {}\ncontext {} tokens", model.manifest().name, model.context());
  for (const std::string_view parameter : kParameters) out += "\n" + line(parameter);
  return out;
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
    const auto now = set_parameter(rest, options, conversation.model());
    status = now.status();
    if (status.ok() && rest.empty()) print_err("{}\n", escaped_lines(*now));
    if (status.ok() && !rest.empty()) say("{}", *now);
  } else if (name == "/save") {
    status = save(std::string(rest), conversation);
  } else if (name == "/load") {
    status = load(std::string(rest), conversation);
  } else if (name == "/regenerate") {
    if (!conversation.is_empty()) return {Kind::kAnswer, conversation.take_last()};
    say("there is no answer yet");
  } else if (name == "/help" || name == "/?") {
    print_err("{}", kHelp);
  } else {
    const std::string meant =
        did_you_mean(name, {"/help", "/set", "/system", "/regenerate", "/save", "/load", "/reset",
                            "/clear", "/bye", "/exit"});
    say("no such command {}{}", name, meant.empty() ? ": /? lists them" : meant);
  }
  if (!status.ok()) print_error(status.message());
  return {Kind::kDone, ""};
}

}  // namespace anemone::cli
