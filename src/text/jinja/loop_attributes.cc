// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/loop_attributes.h"

namespace anemone::text::jinja {

Result<Value> loop_attribute(const Loop& loop, std::string_view name) {
  const std::size_t at = loop.index0;
  const std::size_t length = loop.items.size();
  if (name == "index") return Value::size(at + 1);
  if (name == "index0") return Value::size(at);
  if (name == "revindex") return Value::size(length - at);
  if (name == "revindex0") return Value::size(length - at - 1);
  if (name == "first") return Value::boolean(at == 0);
  if (name == "last") return Value::boolean(at + 1 == length);
  if (name == "length") return Value::size(length);
  if (name == "depth") return Value::size(loop.depth0 + 1);
  if (name == "depth0") return Value::size(loop.depth0);
  if (name == "previtem") return at > 0 ? loop.items[at - 1] : Value();
  if (name == "nextitem") return at + 1 < length ? loop.items[at + 1] : Value();
  return Value();
}

}  // namespace anemone::text::jinja
