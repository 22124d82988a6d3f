// SPDX-License-Identifier: Apache-2.0
// Filters from text to text.
#include "base/error.h"
#include "text/jinja/filter_tools.h"
#include "text/jinja/filters.h"
#include "text/jinja/operators.h"
#include "text/jinja/text_tools.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace anemone::text::jinja {
namespace {

constexpr std::size_t kPlaceCost = 20;  // of a replacement

// `per_byte` is what the change costs.
template <std::string (*change)(std::string_view), std::size_t per_byte>
Result<Value> change_text(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("this filter", args, {}).status());
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, interpreter.to_text(input));
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(text.size() * per_byte));
  return interpreter.make_text(change(text));
}

std::string same(std::string_view text) {
  return std::string(text);
}

std::string title_words(std::string_view text) {
  return title(text, [](char32_t value) {
    return is_white_space(value) || value == '-' || value == '(' || value == '{' || value == '[' ||
           value == '<';
  });
}

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

Result<Value> filter_trim(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::bind("trim", args, {"chars"}));
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, interpreter.to_text(input));
  std::optional<std::string> characters;
  if (bound.has(0) && !bound[0].is_none()) {
    ANEMONE_ASSIGN_OR_RETURN(characters, bound.text(interpreter.heap(), 0, ""));
  }
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(strip_cost(text, characters)));
  return interpreter.make_text(std::string(strip(text, characters, true, true)));
}

Result<Value> filter_replace(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("replace", args, {"old", "new", "count"}, 2));
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, interpreter.to_text(input));
  ANEMONE_ASSIGN_OR_RETURN(const std::string from, interpreter.to_text(bound[0]));
  ANEMONE_ASSIGN_OR_RETURN(const std::string to, interpreter.to_text(bound[1]));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t most, bound.integer(2, -1));
  ANEMONE_RETURN_IF_ERROR(interpreter.charge_search(text.size(), from.size()));
  // Known before the work: many short matches may become long.
  const std::size_t places =
      std::min(count_places(text, from), most < 0 ? SIZE_MAX : static_cast<std::size_t>(most));
  if (to.size() > from.size() &&
      places > interpreter.limits().output_bytes / (to.size() - from.size()))
    return invalid_argument("[chat template] expected a text of at most {} bytes",
                            interpreter.limits().output_bytes);
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(places * (kPlaceCost + cost::bytes(to.size()))));
  return interpreter.make_text(replace(text, from, to, most));
}

Result<Value> filter_indent(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("indent", args, {"width", "first", "blank"}));
  if (input.is_undefined()) return invalid_argument("[chat template] {}", input.undefined_hint());
  if (!input.is_text())
    return invalid_argument("[chat template] indent expected text, got {}", input.type_name());
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, interpreter.to_text(input));
  std::string indent(4, ' ');
  if (bound.has(0) && bound[0].is_text()) {
    ANEMONE_ASSIGN_OR_RETURN(indent, bound.text(interpreter.heap(), 0, ""));
  } else {
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t width, bound.integer(0, 4));
    if (width > 10'000) return invalid_argument("[chat template] expected a smaller indent");
    indent.assign(static_cast<std::size_t>(width < 0 ? 0 : width), ' ');
  }
  // Jinja2 adds a newline, splits, and thereby drops the last one.
  const std::string closed = text + "\n";
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(closed.size() * cost::kCharacter));
  const auto lines = split_lines(closed, false, interpreter.limits().items);
  if (!lines) return too_many_parts(interpreter);
  Output out(interpreter.heap());
  if (bound.flag(1, false)) ANEMONE_RETURN_IF_ERROR(out.append(indent));
  for (std::size_t i = 0; i < lines->size(); ++i) {
    const std::string_view line = (*lines)[i];
    if (i > 0) {
      ANEMONE_RETURN_IF_ERROR(out.append("\n"));
      if (!line.empty() || bound.flag(2, false)) ANEMONE_RETURN_IF_ERROR(out.append(indent));
    }
    ANEMONE_RETURN_IF_ERROR(interpreter.charge(cost::kCharacter));
    ANEMONE_RETURN_IF_ERROR(out.append(line));
  }
  return interpreter.make_text(out.take());
}

Result<Value> filter_format(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const std::string format, interpreter.to_text(input));
  if (args.named.empty())
    return percent_format(interpreter, format, args.positional, PercentOperand::kTuple);
  Dict dict;
  for (const auto& [name, value] : args.named) {
    ANEMONE_ASSIGN_OR_RETURN(const Value key, interpreter.make_text(name));
    ANEMONE_RETURN_IF_ERROR(dict.set(interpreter.heap(), key, value));
  }
  ANEMONE_ASSIGN_OR_RETURN(Value values, interpreter.heap().dict(std::move(dict)));
  return percent_format(interpreter, format, {std::move(values)}, PercentOperand::kOne);
}

Result<Value> filter_wordcount(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("wordcount", args, {}).status());
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, interpreter.to_text(input));
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(text.size() * cost::kCase));
  std::size_t count = 0;
  bool inside = false;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_code_point(text, i);
    const bool word = is_word_character(point.value);
    if (word && !inside) ++count;
    inside = word;
    i += static_cast<std::size_t>(point.length);
  }
  return Value::size(count);
}

constexpr FilterEntry kTextFilters[] = {
    {"trim", filter_trim},
    {"upper", change_text<to_upper, cost::kCase>},
    {"lower", change_text<to_lower, cost::kCase>},
    {"capitalize", change_text<capitalize, cost::kCase>},
    {"title", change_text<title_words, cost::kTitle>},
    {"string", change_text<same, 0>},
    {"safe", change_text<same, 0>},
    {"escape", change_text<escape, cost::kCharacter>},
    {"e", change_text<escape, cost::kCharacter>},
    {"forceescape", change_text<escape, cost::kCharacter>},
    {"replace", filter_replace},
    {"indent", filter_indent},
    {"format", filter_format},
    {"wordcount", filter_wordcount},
};

}  // namespace

std::span<const FilterEntry> text_filters() {
  return kTextFilters;
}

}  // namespace anemone::text::jinja
