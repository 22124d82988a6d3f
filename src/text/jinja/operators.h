// SPDX-License-Identifier: Apache-2.0
// Python's operators on template values.
#pragma once

#include <anemone/status.h>

#include <string_view>

#include "text/jinja/interpreter.h"
#include "text/jinja/value.h"

namespace anemone::text::jinja {

// name is + - * / // % **.
Result<Value> apply_binary(Interpreter& interpreter, std::string_view name, const Value& left,
                           const Value& right);
Result<Value> negate(const Value& value);
// name is == != < <= > >= in, not in.
Result<bool> apply_compare(Interpreter& interpreter, std::string_view name, const Value& left,
                           const Value& right);
// left < right for sorting; kInvalidArgument for kinds without an order.
Result<bool> less(Interpreter& interpreter, const Value& left, const Value& right, int depth = 0);
// The items of a slice of text, list or tuple. start, stop, step may be none.
Result<Value> slice(Interpreter& interpreter, const Value& value, const Value& start,
                    const Value& stop, const Value& step);

// printf-like: "%s of %d" % values.
// kOne: what stands after the "%" is no tuple; what can be indexed may then be left over.
enum class PercentOperand { kTuple, kOne };
Result<Value> percent_format(Interpreter& interpreter, const std::string& format,
                             const std::vector<Value>& values, PercentOperand operand);
// str.format: "{} {0} {name:>5}".
Result<Value> brace_format(Interpreter& interpreter, const std::string& format,
                           const CallArgs& args);

}  // namespace anemone::text::jinja
