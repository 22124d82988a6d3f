// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/methods.h"

#include "base/error.h"

namespace anemone::text::jinja {
namespace {

Result<Value> call_loop_method(Interpreter& interpreter, Loop& loop, std::string_view name,
                               const CallArgs& args) {
  if (name == "cycle") {
    if (args.positional.empty()) return invalid_argument("[chat template] cycle needs arguments");
    return args.positional[loop.index0 % args.positional.size()];
  }
  // changed(values): whether they differ from those of the last call.
  ANEMONE_ASSIGN_OR_RETURN(Value values,
                           interpreter.make_sequence(args.positional, SequenceKind::kTuple));
  bool changed = true;
  if (loop.last_changed) {
    ANEMONE_ASSIGN_OR_RETURN(const bool same,
                             equal(interpreter.heap(), *loop.last_changed, values));
    changed = !same;
  }
  loop.last_changed = std::move(values);
  return Value::boolean(changed);
}

const MethodEntry* find_method(const Value& self, std::string_view name) {
  if (self.is_text()) return find_text_method(name);
  if (self.as_dict() != nullptr) return find_dict_method(name);
  if (const Sequence* sequence = self.as_sequence()) {
    if (sequence->kind == SequenceKind::kGenerator) return nullptr;
    if (sequence->kind == SequenceKind::kTuple && name != "index" && name != "count")
      return nullptr;
    return find_list_method(name);
  }
  return nullptr;
}

}  // namespace

bool has_method(const Value& self, std::string_view name) {
  if (self.as_loop() != nullptr) return name == "cycle" || name == "changed";
  return find_method(self, name) != nullptr;
}

Result<Value> call_method(Interpreter& interpreter, const Value& self, std::string_view name,
                          const CallArgs& args) {
  if (Loop* loop = self.as_loop()) return call_loop_method(interpreter, *loop, name, args);
  const MethodEntry* method = find_method(self, name);
  if (method == nullptr)
    return invalid_argument("[chat template] '{} object' has no method '{}'", self.type_name(),
                            name);
  return method->call(interpreter, self, args);
}

}  // namespace anemone::text::jinja
