// SPDX-License-Identifier: Apache-2.0
// The parsed form of a template. Trees are of bounded height (parser.h), so walking them by
// recursion is safe.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace anemone::text::jinja {

struct FilterEntry;
struct TestEntry;

enum class ExprKind {
  kConst,     // value
  kName,      // name
  kList,      // args
  kTuple,     // args
  kDict,      // args: key, value, key, value, ...
  kGetAttr,   // args[0].name
  kGetItem,   // args[0][args[1]]
  kSlice,     // args[0][args[1] : args[2] : args[3]]; nullptr where left out
  kCall,      // args[0](args[1:], named)
  kFilter,    // args[0] | filter(args[1:], named); args[0] is nullptr in a filter block
  kTest,      // args[0] is test(args[1:], named)
  kNot,       // not args[0]
  kNegate,    // -args[0]
  kPlus,      // +args[0]
  kAnd,       // args[0] and args[1]
  kOr,        // args[0] or args[1]
  kBinary,    // args[0] name args[1]; name is + - * / // % **
  kCompare,   // args[0] names[0] args[1] names[1] args[2] ...
  kConcat,    // args[0] ~ args[1] ~ ...
  kCondition  // args[0] if args[1] else args[2]; args[2] may be nullptr
};

struct Expr {
  ExprKind kind = ExprKind::kConst;
  int line = 0;
  int height = 1;
  std::string name;
  Value value;
  std::vector<std::unique_ptr<Expr>> args;
  std::vector<std::pair<std::string, std::unique_ptr<Expr>>> named;
  std::vector<std::string> names;
  const FilterEntry* filter = nullptr;
  const TestEntry* test = nullptr;
};
using ExprPtr = std::unique_ptr<Expr>;

enum class StmtKind {
  kText,       // text
  kPrint,      // expr
  kIf,         // branches, otherwise
  kFor,        // for target in expr if condition: body, else otherwise
  kSet,        // target = expr
  kSetBlock,   // target = body, through filter
  kMacro,      // name, parameters, body
  kCallBlock,  // expr is the call, parameters and body are the caller
  kFilter,     // filter, body
  kWith,       // parameters with defaults are the variables; body
  kScope,      // body in a scope of its own (generation)
  kBreak,
  kContinue
};

struct Stmt;
using StmtPtr = std::unique_ptr<Stmt>;
using Block = std::vector<StmtPtr>;

// What set and for assign to.
struct Target {
  std::vector<std::string> names;  // more than one, or is_tuple: unpacked
  bool is_tuple = false;
  std::string attribute;  // names[0].attribute = ... of a namespace
};

struct Parameter {
  std::string name;
  ExprPtr fallback;  // nullptr: none
};

struct Branch {
  ExprPtr condition;
  Block body;
};

struct Stmt {
  StmtKind kind = StmtKind::kText;
  int line = 0;
  std::string text;  // kText; kMacro: its name
  ExprPtr expr;
  ExprPtr condition;  // of a for
  ExprPtr filter;     // a chain of kFilter whose innermost args[0] is nullptr
  Target target;
  std::vector<Branch> branches;
  std::vector<Parameter> parameters;
  Block body;
  Block otherwise;
  bool recursive = false;
};

}  // namespace anemone::text::jinja
