// SPDX-License-Identifier: Apache-2.0
// Chat templates: Jinja2 as Hugging Face transformers renders it (sandboxed, trim_blocks,
// lstrip_blocks, break and continue, generation blocks). An own interpreter, jinja/; only what a
// template can need.
#pragma once

#include <anemone/status.h>

#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/work_budget.h"
#include "text/jinja/ast.h"
#include "text/jinja/civil_time.h"
#include "text/jinja/interpreter.h"

namespace anemone::text {

struct RenderOptions {
  std::optional<jinja::CivilTime> now;  // what strftime_now prints; the local time when absent
  jinja::Limits limits;
  // The budget of the request that is rendered: the work is charged to it, too. May be null.
  WorkBudget* budget = nullptr;
};

// A parsed template. Immutable and thread-safe; copies share the tree.
class ChatTemplate {
 public:
  // kParseError names the line; kUnsupported for import, include and the like.
  static Result<ChatTemplate> parse(const std::string& source);

  // The members of `context` are the template's variables: messages, tools, add_generation_prompt,
  // bos_token, ... "tools" and "documents" are none when absent. The same input gives the same
  // text, except for strftime_now without `now`. kInvalidArgument: an error of the template, with
  // exactly the message that it gave to raise_exception; or a limit.
  Result<std::string> render(const Json& context, const RenderOptions& options = {}) const;

 private:
  explicit ChatTemplate(jinja::Block body)
      : body_(std::make_shared<const jinja::Block>(std::move(body))) {}
  std::shared_ptr<const jinja::Block> body_;
};

}  // namespace anemone::text
