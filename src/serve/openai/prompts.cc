// SPDX-License-Identifier: Apache-2.0
#include "serve/openai/prompts.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"

namespace anemone::serve::openai {
namespace {

std::optional<Prompt> prompt_of(const Json& item) {
  if (item.is_string()) return Prompt(item.get<std::string>());
  auto ids = ids_of(item);
  if (!ids || ids->empty()) return std::nullopt;
  return Prompt(*std::move(ids));
}

}  // namespace

std::vector<Prompt> read_prompts(JsonFields& fields, std::string_view key, std::size_t most) {
  const Json* member = fields.member(key);
  const auto refuse = [&](const std::string& got) {
    fields.fail(invalid_argument(
        "[{}] expected a string, token ids, or a list of at most {} of either, got {}", key, most,
        got));
    return std::vector<Prompt>();
  };
  if (member == nullptr) return refuse("none");
  const bool is_list = member->is_array() && !member->empty() && !member->front().is_number();
  if (!is_list) {
    if (member->is_array() && member->empty()) return refuse("an empty list");
    auto one = prompt_of(*member);
    if (!one)
      return refuse(member->is_array() ? "a list with something else in it"
                                       : describe_json(*member));
    return {*std::move(one)};
  }
  if (member->size() > most) return refuse(std::to_string(member->size()));
  std::vector<Prompt> out;
  for (const Json& item : *member) {
    auto one = prompt_of(item);
    if (!one) return refuse("a list with something else in it");
    out.push_back(*std::move(one));
  }
  return out;
}

}  // namespace anemone::serve::openai
