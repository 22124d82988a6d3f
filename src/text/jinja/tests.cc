// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/tests.h"

#include "base/error.h"
#include "text/jinja/filters.h"
#include "text/jinja/operators.h"
#include "text/unicode.h"

namespace anemone::text::jinja {
namespace {

Status no_arguments(const CallArgs& args) {
  if (args.positional.empty() && args.named.empty()) return ok_status();
  return invalid_argument("[chat template] this test takes no arguments");
}

// A test whose result depends on the value alone.
template <bool (*predicate)(const Value&)>
Result<bool> plain(Interpreter&, const Value& value, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(no_arguments(args));
  return predicate(value);
}

bool is_defined(const Value& value) {
  return !value.is_undefined();
}
bool is_undefined(const Value& value) {
  return value.is_undefined();
}
bool is_none(const Value& value) {
  return value.is_none();
}
bool is_boolean(const Value& value) {
  return value.is_bool();
}
bool is_true(const Value& value) {
  return value.is_bool() && value.truthy();
}
bool is_false(const Value& value) {
  return value.is_bool() && !value.truthy();
}
bool is_integer(const Value& value) {
  return value.is_integer() && !value.is_bool();
}
bool is_float(const Value& value) {
  return value.is_float();
}
bool is_number(const Value& value) {
  return value.is_number();
}
bool is_string(const Value& value) {
  return value.is_text();
}
bool is_mapping(const Value& value) {
  return value.as_dict() != nullptr;
}
bool is_iterable(const Value& value) {
  // Undefined iterates over nothing.
  return value.is_undefined() || value.is_text() || value.as_sequence() != nullptr ||
         value.as_dict() != nullptr || value.as_loop() != nullptr;
}
// What has a length and takes an index: dicts and undefined values too.
bool is_sequence(const Value& value) {
  const Sequence* sequence = value.as_sequence();
  return value.is_text() || value.as_dict() != nullptr || value.is_undefined() ||
         (sequence != nullptr && sequence->kind != SequenceKind::kGenerator);
}
bool is_callable(const Value& value) {
  return value.as_macro() != nullptr || value.as_function() != nullptr ||
         value.as_method() != nullptr || value.is_undefined();
}
bool is_escaped(const Value&) {
  return false;
}

// Whether the printed value has a letter with two cases, and all of them in this one.
template <bool upper>
Result<bool> is_of_case(Interpreter& interpreter, const Value& value, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(no_arguments(args));
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, interpreter.to_text(value));
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(2 * text.size() * cost::kCase));
  return upper ? to_upper(text) == text && to_lower(text) != text
               : to_lower(text) == text && to_upper(text) != text;
}

// As Python has it: floats have remainders, too, and "%" of a text formats it.
Result<bool> remainder_is(Interpreter& interpreter, const Value& value, const Value& divisor,
                          Int wanted) {
  ANEMONE_ASSIGN_OR_RETURN(const Value remainder, apply_binary(interpreter, "%", value, divisor));
  return remainder.is_number() && remainder.as_number() == static_cast<double>(wanted);
}

Result<bool> is_odd(Interpreter& interpreter, const Value& value, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(no_arguments(args));
  return remainder_is(interpreter, value, Value::integer(2), 1);
}
Result<bool> is_even(Interpreter& interpreter, const Value& value, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(no_arguments(args));
  return remainder_is(interpreter, value, Value::integer(2), 0);
}
Result<bool> is_divisible(Interpreter& interpreter, const Value& value, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::bind("divisibleby", args, {"num"}, 1));
  return remainder_is(interpreter, value, bound[0], 0);
}

template <const char* name>
Result<bool> compare(Interpreter& interpreter, const Value& value, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::bind(name, args, {"other"}, 1));
  return apply_compare(interpreter, name, value, bound[0]);
}
constexpr char kEqual[] = "==";
constexpr char kNotEqual[] = "!=";
constexpr char kLess[] = "<";
constexpr char kLessEqual[] = "<=";
constexpr char kGreater[] = ">";
constexpr char kGreaterEqual[] = ">=";
constexpr char kIn[] = "in";

Result<bool> is_same(Interpreter& interpreter, const Value& value, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::bind("sameas", args, {"other"}, 1));
  if (value.data().index() != bound[0].data().index()) return false;
  return equal(interpreter.heap(), value, bound[0]);
}

Result<bool> is_filter(Interpreter&, const Value& value, const CallArgs&) {
  return value.is_text() && find_filter(*value.as_text()) != nullptr;
}
Result<bool> is_test(Interpreter&, const Value& value, const CallArgs&) {
  return value.is_text() && find_test(*value.as_text()) != nullptr;
}

constexpr TestEntry kTests[] = {
    {"defined", plain<is_defined>},
    {"undefined", plain<is_undefined>},
    {"none", plain<is_none>},
    {"boolean", plain<is_boolean>},
    {"true", plain<is_true>},
    {"false", plain<is_false>},
    {"integer", plain<is_integer>},
    {"float", plain<is_float>},
    {"number", plain<is_number>},
    {"string", plain<is_string>},
    {"mapping", plain<is_mapping>},
    {"iterable", plain<is_iterable>},
    {"sequence", plain<is_sequence>},
    {"callable", plain<is_callable>},
    {"lower", is_of_case<false>},
    {"upper", is_of_case<true>},
    {"escaped", plain<is_escaped>},
    {"odd", is_odd},
    {"even", is_even},
    {"divisibleby", is_divisible},
    {"sameas", is_same},
    {"filter", is_filter},
    {"test", is_test},
    {"in", compare<kIn>},
    {"==", compare<kEqual>},
    {"eq", compare<kEqual>},
    {"equalto", compare<kEqual>},
    {"!=", compare<kNotEqual>},
    {"ne", compare<kNotEqual>},
    {"<", compare<kLess>},
    {"lt", compare<kLess>},
    {"lessthan", compare<kLess>},
    {"<=", compare<kLessEqual>},
    {"le", compare<kLessEqual>},
    {">", compare<kGreater>},
    {"gt", compare<kGreater>},
    {"greaterthan", compare<kGreater>},
    {">=", compare<kGreaterEqual>},
    {"ge", compare<kGreaterEqual>},
};

}  // namespace

const TestEntry* find_test(std::string_view name) {
  for (const TestEntry& entry : kTests)
    if (entry.name == name) return &entry;
  return nullptr;
}

}  // namespace anemone::text::jinja
