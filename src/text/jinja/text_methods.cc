// SPDX-License-Identifier: Apache-2.0
// Methods of str.
#include <algorithm>

#include "base/error.h"
#include "text/jinja/filter_tools.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"
#include "text/jinja/text_tools.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace anemone::text::jinja {
namespace {

// Characters before byte `at`.
Value character_index(const std::string& text, std::size_t at) {
  return Value::size(count_code_points(std::string_view(text).substr(0, at)));
}

Result<Value> text_list(Interpreter& interpreter, const Parts& parts) {
  if (!parts) return too_many_parts(interpreter);
  std::vector<Value> items;
  items.reserve(parts->size());
  for (const std::string_view part : *parts) {
    ANEMONE_ASSIGN_OR_RETURN(Value item, interpreter.make_text(std::string(part)));
    items.push_back(std::move(item));
  }
  return interpreter.make_sequence(std::move(items));
}

template <bool left, bool right>
Result<Value> text_strip(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::bind("strip", args, {"chars"}));
  std::optional<std::string> characters;
  if (bound.has(0) && !bound[0].is_none()) {
    ANEMONE_ASSIGN_OR_RETURN(characters, bound.text(interpreter.heap(), 0, ""));
  }
  const std::string& text = *self.as_text();
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(strip_cost(text, characters)));
  return interpreter.make_text(std::string(strip(text, characters, left, right)));
}

template <bool from_right>
Result<Value> text_split(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("split", args, {"sep", "maxsplit"}));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t most, bound.integer(1, -1));
  const std::string& text = *self.as_text();
  const std::size_t limit = interpreter.limits().items;
  if (!bound.has(0) || bound[0].is_none()) {
    ANEMONE_RETURN_IF_ERROR(interpreter.charge(text.size() * cost::kCharacter));
    if (from_right && most >= 0)
      return unsupported("[chat template] expected a separator in rsplit with maxsplit");
    return text_list(interpreter, split_words(text, most, limit));
  }
  ANEMONE_ASSIGN_OR_RETURN(const std::string separator, bound.text(interpreter.heap(), 0, ""));
  if (separator.empty()) return invalid_argument("[chat template] empty separator");
  ANEMONE_RETURN_IF_ERROR(interpreter.charge_search(text.size(), separator.size()));
  return text_list(interpreter, from_right ? split_at_from_right(text, separator, most, limit)
                                           : split_at(text, separator, most, limit));
}

Result<Value> text_splitlines(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("splitlines", args, {"keepends"}));
  const std::string& text = *self.as_text();
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(text.size() * cost::kCharacter));
  return text_list(interpreter,
                   split_lines(text, bound.flag(0, false), interpreter.limits().items));
}

template <bool at_end>
Result<Value> text_affix(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("startswith or endswith", args, {"affix"}, 1));
  std::vector<Value> affixes = {bound[0]};
  if (const Sequence* tuple = bound[0].as_sequence();
      tuple != nullptr && tuple->kind == SequenceKind::kTuple) {
    ANEMONE_RETURN_IF_ERROR(interpreter.charge(tuple->items.size() * cost::kItem));
    affixes = tuple->items;
  }
  for (const Value& affix : affixes) {
    ANEMONE_RETURN_IF_ERROR(interpreter.charge(
        cost::kItem + (affix.is_text() ? cost::compared(affix.as_text()->size()) : 0)));
    const std::string* text = affix.as_text();
    if (text == nullptr)
      return invalid_argument("[chat template] startswith and endswith expected text, got {}",
                              affix.type_name());
    if (at_end ? self.as_text()->ends_with(*text) : self.as_text()->starts_with(*text))
      return Value::boolean(true);
  }
  return Value::boolean(false);
}

template <bool at_end>
Result<Value> text_remove_affix(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("removeprefix", args, {"affix"}, 1));
  ANEMONE_ASSIGN_OR_RETURN(const std::string affix, bound.text(interpreter.heap(), 0, ""));
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(cost::bytes(self.as_text()->size() + affix.size())));
  std::string text = *self.as_text();
  if (at_end ? text.ends_with(affix) : text.starts_with(affix))
    text.erase(at_end ? text.size() - affix.size() : 0, affix.size());
  return interpreter.make_text(std::move(text));
}

Result<Value> text_replace(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("replace", args, {"old", "new", "count"}, 2));
  ANEMONE_ASSIGN_OR_RETURN(
      const Value result,
      interpreter.call_filter(
          "replace", self,
          CallArgs{{bound[0], bound[1], bound.has(2) ? bound[2] : Value::none()}, {}}));
  return result;
}

Result<Value> text_join(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::bind("join", args, {"iterable"}, 1));
  ANEMONE_ASSIGN_OR_RETURN(const std::vector<Value> items, interpreter.iterate(bound[0]));
  for (const Value& item : items)
    if (!item.is_text())
      return invalid_argument("[chat template] join expected text, got {}", item.type_name());
  return interpreter.call_filter("join", bound[0], CallArgs{{self}, {}});
}

Result<Value> text_format(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  return brace_format(interpreter, *self.as_text(), args);
}

template <bool from_right, bool must_find>
Result<Value> text_find(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::bind("find", args, {"sub"}, 1));
  ANEMONE_ASSIGN_OR_RETURN(const std::string part, bound.text(interpreter.heap(), 0, ""));
  const std::string& text = *self.as_text();
  ANEMONE_RETURN_IF_ERROR(interpreter.charge_search(text.size(), part.size()));
  const std::size_t at = from_right ? text.rfind(part) : text.find(part);
  if (at != std::string::npos) return character_index(text, at);
  if (must_find) return invalid_argument("[chat template] index: substring not found");
  return Value::integer(-1);
}

Result<Value> text_count(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::bind("count", args, {"sub"}, 1));
  ANEMONE_ASSIGN_OR_RETURN(const std::string part, bound.text(interpreter.heap(), 0, ""));
  const std::string& text = *self.as_text();
  ANEMONE_RETURN_IF_ERROR(interpreter.charge_search(text.size(), part.size()));
  return Value::size(count_places(text, part));
}

template <std::string (*change)(std::string_view), std::size_t per_byte>
Result<Value> text_change(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("this method", args, {}).status());
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(self.as_text()->size() * per_byte));
  return interpreter.make_text(change(*self.as_text()));
}

std::string title_of(std::string_view text) {
  // A word is a run of letters: Python's str.title.
  return title(text, [](char32_t value) {
    return !is_word_character(value) || is_numeric(value) || value == '_';
  });
}

template <bool (*predicate)(char32_t)>
Result<Value> text_all(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("this method", args, {}).status());
  const std::string& text = *self.as_text();
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(text.size() * cost::kCase));
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_code_point(text, i);
    if (!predicate(point.value)) return Value::boolean(false);
    i += static_cast<std::size_t>(point.length);
  }
  return Value::boolean(!text.empty());
}

bool is_letter(char32_t value) {
  return is_word_character(value) && !is_numeric(value) && value != '_';
}
bool is_letter_or_digit(char32_t value) {
  return is_word_character(value) && value != '_';
}

template <bool upper>
Result<Value> text_case(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const bool result,
                           interpreter.call_test(upper ? "upper" : "lower", self, args));
  return Value::boolean(result);
}

template <char align>
Result<Value> text_pad(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("ljust or rjust", args, {"width", "fillchar"}, 1));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t width, bound.integer(0, 0));
  ANEMONE_ASSIGN_OR_RETURN(const std::string fill,
                           bound.text(interpreter.heap(), 1, align == '0' ? "0" : " "));
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(cost::bytes(self.as_text()->size() + fill.size())));
  const auto length = static_cast<std::int64_t>(count_code_points(*self.as_text()));
  if (count_code_points(fill) != 1)
    return invalid_argument("[chat template] expected a fill of one character");
  if (width <= length) return self;
  if (static_cast<std::size_t>(width) > interpreter.limits().output_bytes)
    return invalid_argument("[chat template] expected a smaller width");
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(static_cast<std::size_t>(width) * cost::kCharacter +
                                             cost::bytes(self.as_text()->size())));
  std::string padding;
  for (std::int64_t i = length; i < width; ++i) padding += fill;
  const std::string& text = *self.as_text();
  if (align == '<') return interpreter.make_text(text + padding);
  const bool has_sign = align == '0' && (text.starts_with('-') || text.starts_with('+'));
  if (has_sign) return interpreter.make_text(text.substr(0, 1) + padding + text.substr(1));
  return interpreter.make_text(padding + text);
}

constexpr MethodEntry kTextMethods[] = {
    {"strip", text_strip<true, true>},
    {"lstrip", text_strip<true, false>},
    {"rstrip", text_strip<false, true>},
    {"split", text_split<false>},
    {"rsplit", text_split<true>},
    {"splitlines", text_splitlines},
    {"startswith", text_affix<false>},
    {"endswith", text_affix<true>},
    {"removeprefix", text_remove_affix<false>},
    {"removesuffix", text_remove_affix<true>},
    {"replace", text_replace},
    {"join", text_join},
    {"format", text_format},
    {"find", text_find<false, false>},
    {"rfind", text_find<true, false>},
    {"index", text_find<false, true>},
    {"rindex", text_find<true, true>},
    {"count", text_count},
    {"upper", text_change<to_upper, cost::kCase>},
    {"lower", text_change<to_lower, cost::kCase>},
    {"capitalize", text_change<capitalize, cost::kCase>},
    {"title", text_change<title_of, cost::kTitle>},
    {"isspace", text_all<is_white_space>},
    {"isdigit", text_all<is_numeric>},
    {"isnumeric", text_all<is_numeric>},
    {"isalpha", text_all<is_letter>},
    {"isalnum", text_all<is_letter_or_digit>},
    {"isupper", text_case<true>},
    {"islower", text_case<false>},
    {"ljust", text_pad<'<'>},
    {"rjust", text_pad<'>'>},
    {"zfill", text_pad<'0'>},
};

}  // namespace

const MethodEntry* find_text_method(std::string_view name) {
  for (const MethodEntry& entry : kTextMethods)
    if (entry.name == name) return &entry;
  return nullptr;
}

}  // namespace anemone::text::jinja
