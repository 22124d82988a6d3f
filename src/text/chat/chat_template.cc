// SPDX-License-Identifier: Apache-2.0
#include "text/chat/chat_template.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "text/jinja/parser.h"

namespace anemone::text {

Result<ChatTemplate> ChatTemplate::parse(const std::string& source) {
  ANEMONE_ASSIGN_OR_RETURN(jinja::Block body, jinja::parse_template(source));
  return ChatTemplate(std::move(body));
}

Result<std::string> ChatTemplate::render(const Json& context, const RenderOptions& options) const {
  if (!context.is_object())
    return invalid_argument("[chat template] expected an object of variables, got {}",
                            context.type_name());
  jinja::Interpreter interpreter(options.limits, options.now ? *options.now : jinja::local_now(),
                                 options.budget);
  ANEMONE_RETURN_IF_ERROR(interpreter.set_globals(context));
  return interpreter.render(*body_);
}

}  // namespace anemone::text
