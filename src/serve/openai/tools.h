// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json.h"
#include "base/work_budget.h"
#include "serve/json_fields.h"
#include "serve/openai/request.h"

namespace anemone::serve::openai {

// `tools`, `tool_choice` and `parallel_tool_calls`, or what came before them at OpenAI, `functions`
// and `function_call`: the list for the chat template among the variables, and what an answer may
// call, which is one function where they came as `functions`. kInvalidArgument for members of both.
// "none" leaves the tools out of the prompt. What is wrong
// with them is kept in `fields`; the schemas are looked at where a grammar is made of them. The
// budget (or null) pays for the copies of the schemas.
void read_tools(JsonFields& fields, ChatRequest& request, WorkBudget* budget);

// `reasoning_effort` and `enable_thinking` as variables of the template, which the request's
// chat_template_kwargs take precedence over.
void read_reasoning_options(JsonFields& fields, Json& variables);

}  // namespace anemone::serve::openai
