// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/loop_attributes.h"

#include "base/error.h"
#include "text/jinja/interpreter.h"

namespace anemone::text::jinja {
namespace {

// How many items the loop has, all of them asked for.
Result<std::size_t> length_of(Interpreter& interpreter, Loop& loop) {
  for (bool has_next = true; has_next;) {
    ANEMONE_ASSIGN_OR_RETURN(has_next, interpreter.ask_next(loop));
  }
  return loop.asked;
}

Result<bool> has_next(Interpreter& interpreter, Loop& loop) {
  if (loop.index0 + 1 < loop.asked) return true;
  return interpreter.ask_next(loop);
}

}  // namespace

Result<Value> loop_attribute(Interpreter& interpreter, Loop& loop, std::string_view name) {
  const std::size_t at = loop.index0;
  if (name == "index") return Value::size(at + 1);
  if (name == "index0") return Value::size(at);
  if (name == "first") return Value::boolean(at == 0);
  if (name == "depth") return Value::size(loop.depth0 + 1);
  if (name == "depth0") return Value::size(loop.depth0);
  if (name == "previtem") return at > 0 ? loop.items[at - 1] : Value();
  if (name == "length" || name == "revindex" || name == "revindex0") {
    ANEMONE_ASSIGN_OR_RETURN(const std::size_t length, length_of(interpreter, loop));
    if (name == "length") return Value::size(length);
    return Value::size(length - at - (name == "revindex" ? 0 : 1));
  }
  if (name == "last" || name == "nextitem") {
    ANEMONE_ASSIGN_OR_RETURN(const bool more, has_next(interpreter, loop));
    if (name == "last") return Value::boolean(!more);
    return more ? loop.items[at + 1] : Value();
  }
  return Value();
}

}  // namespace anemone::text::jinja
