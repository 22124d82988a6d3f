// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/functions.h"

#include "base/error.h"

namespace anemone::text::jinja {
namespace {

// Jinja2's sandbox allows no longer range.
constexpr std::int64_t kMaxRange = 100'000;

// The entries that dict() and namespace() take: a dict or pairs, then names.
Result<Dict> collect(Interpreter& interpreter, std::string_view function, const CallArgs& args) {
  Dict dict;
  if (args.positional.size() > 1)
    return invalid_argument("[chat template] {} takes at most 1 argument, got {}", function,
                            args.positional.size());
  if (!args.positional.empty()) {
    if (args.positional[0].is_undefined())
      return invalid_argument("[chat template] {}", args.positional[0].undefined_hint());
    if (const Dict* other = args.positional[0].as_dict()) {
      ANEMONE_RETURN_IF_ERROR(interpreter.charge(other->size() * 4 * cost::kItem));
      dict = *other;
    } else {
      ANEMONE_ASSIGN_OR_RETURN(const auto pairs, interpreter.iterate(args.positional[0]));
      for (const Value& pair : pairs) {
        ANEMONE_ASSIGN_OR_RETURN(const auto items, interpreter.iterate(pair));
        if (items.size() != 2)
          return invalid_argument("[chat template] {} expected pairs, got {} items", function,
                                  items.size());
        ANEMONE_RETURN_IF_ERROR(dict.set(interpreter.heap(), items[0], items[1]));
      }
    }
  }
  for (const auto& [name, value] : args.named) {
    ANEMONE_ASSIGN_OR_RETURN(const Value key, interpreter.make_text(name));
    ANEMONE_RETURN_IF_ERROR(dict.set(interpreter.heap(), key, value));
  }
  return dict;
}

Result<Value> call_namespace(Interpreter& interpreter, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(Dict attributes, collect(interpreter, "namespace", args));
  const std::size_t bytes = sizeof(Namespace) + 64 + attributes.size() * Dict::kEntryBytes;
  Namespace names;
  names.attributes = std::move(attributes);
  ANEMONE_ASSIGN_OR_RETURN(auto object, interpreter.heap().make(std::move(names), bytes));
  return Value::object(std::move(object));
}

Result<Value> call_dict(Interpreter& interpreter, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(Dict dict, collect(interpreter, "dict", args));
  return interpreter.heap().dict(std::move(dict));
}

// The error's message is exactly the template's.
Result<Value> call_raise_exception(Interpreter& interpreter, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("raise_exception", args, {"message"}, 1));
  ANEMONE_ASSIGN_OR_RETURN(std::string message, interpreter.to_text(bound[0]));
  return Status(Code::kInvalidArgument, std::move(message));
}

Result<Value> call_range(Interpreter& interpreter, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("range", args, {"start", "stop", "step"}, 1));
  ANEMONE_ASSIGN_OR_RETURN(std::int64_t start, bound.integer(0, 0));
  ANEMONE_ASSIGN_OR_RETURN(std::int64_t stop, bound.integer(1, 0));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t step, bound.integer(2, 1));
  if (!bound.has(1)) {
    stop = start;
    start = 0;
  }
  if (step == 0) return invalid_argument("[chat template] range() step must not be zero");
  const std::int64_t distance = step > 0 ? stop - start : start - stop;
  const std::int64_t stride = step > 0 ? step : -step;
  const std::int64_t count = distance > 0 ? (distance + stride - 1) / stride : 0;
  if (count > kMaxRange)
    return invalid_argument("[chat template] range too big: at most {} items", kMaxRange);
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(static_cast<std::size_t>(count) * cost::kItem));
  std::vector<Value> items;
  items.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) items.push_back(Value::integer(start + i * step));
  return interpreter.make_sequence(std::move(items));
}

Result<Value> call_strftime_now(Interpreter& interpreter, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("strftime_now", args, {"format"}, 1));
  ANEMONE_ASSIGN_OR_RETURN(const std::string format, bound.text(interpreter.heap(), 0, ""));
  constexpr std::size_t kMaxFormat = 1000;
  if (format.size() > kMaxFormat)
    return invalid_argument("[chat template] strftime_now expected at most {} bytes, got {}",
                            kMaxFormat, format.size());
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(1000 + format.size() * 100));
  ANEMONE_ASSIGN_OR_RETURN(std::string text, format_civil_time(interpreter.now(), format));
  return interpreter.make_text(std::move(text));
}

}  // namespace

Status add_functions(Interpreter& interpreter) {
  constexpr std::pair<const char*, NativeFunction> kFunctions[] = {
      {"namespace", call_namespace},
      {"dict", call_dict},
      {"raise_exception", call_raise_exception},
      {"range", call_range},
      {"strftime_now", call_strftime_now},
  };
  for (const auto& [name, function] : kFunctions)
    ANEMONE_RETURN_IF_ERROR(interpreter.set_global(
        name, Value::object(std::make_shared<const Function>(Function{name, function}))));
  return ok_status();
}

}  // namespace anemone::text::jinja
