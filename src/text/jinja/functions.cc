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
    if (const Dict* other = args.positional[0].as_dict()) {
      dict = *other;
    } else {
      ANEMONE_ASSIGN_OR_RETURN(const auto pairs, interpreter.iterate(args.positional[0]));
      for (const Value& pair : pairs) {
        ANEMONE_ASSIGN_OR_RETURN(const auto items, interpreter.iterate(pair));
        if (items.size() != 2)
          return invalid_argument("[chat template] {} expected pairs, got {} items", function,
                                  items.size());
        dict.set(items[0], items[1]);
      }
    }
  }
  for (const auto& [name, value] : args.named) dict.set(Value::text(name), value);
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(dict.size()));
  return dict;
}

Result<Value> call_namespace(Interpreter& interpreter, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(Dict attributes, collect(interpreter, "namespace", args));
  return Value::object(std::make_shared<Namespace>(Namespace{std::move(attributes)}));
}

Result<Value> call_dict(Interpreter& interpreter, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(Dict dict, collect(interpreter, "dict", args));
  return Value::dict(std::move(dict));
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
  std::vector<Value> items;
  for (std::int64_t i = 0; i < count; ++i) items.push_back(Value::integer(start + i * step));
  return interpreter.make_sequence(std::move(items));
}

Result<Value> call_strftime_now(Interpreter& interpreter, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("strftime_now", args, {"format"}, 1));
  ANEMONE_ASSIGN_OR_RETURN(const std::string format, bound.text(0, ""));
  ANEMONE_ASSIGN_OR_RETURN(std::string text, format_civil_time(interpreter.now(), format));
  return interpreter.make_text(std::move(text));
}

}  // namespace

void add_functions(Interpreter& interpreter) {
  const auto add = [&](const char* name, NativeFunction function) {
    interpreter.set_global(
        name, Value::object(std::make_shared<const Function>(Function{name, function})));
  };
  add("namespace", call_namespace);
  add("dict", call_dict);
  add("raise_exception", call_raise_exception);
  add("range", call_range);
  add("strftime_now", call_strftime_now);
}

}  // namespace anemone::text::jinja
