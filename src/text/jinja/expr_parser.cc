// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/expr_parser.h"

#include <algorithm>
#include <array>

#include "text/jinja/parser.h"

namespace anemone::text::jinja {
namespace {

// Each level of brackets takes a dozen calls; this bounds the stack that they need.
constexpr int kMaxBracketDepth = 100;

template <std::size_t n>
bool is_one_of(const TokenStream& tokens, const std::array<std::string_view, n>& operators) {
  return tokens.is(TokenKind::kOperator) &&
         std::find(operators.begin(), operators.end(), tokens.current().text) != operators.end();
}

}  // namespace

class ExprParser::DepthGuard {
 public:
  explicit DepthGuard(int& depth) : depth_(depth) { ++depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
  ~DepthGuard() { --depth_; }
  bool too_deep() const { return depth_ > kMaxBracketDepth; }

 private:
  int& depth_;
};

ExprPtr ExprParser::make(ExprKind kind) const {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->line = tokens_.line();
  return expr;
}

Result<ExprPtr> ExprParser::finish(ExprPtr expr) {
  int height = 0;
  for (const ExprPtr& arg : expr->args)
    if (arg != nullptr) height = std::max(height, arg->height);
  for (const auto& [name, arg] : expr->named) height = std::max(height, arg->height);
  expr->height = height + 1;
  if (expr->height > kMaxTreeHeight) return tokens_.fail("a simpler expression");
  return expr;
}

Result<ExprPtr> ExprParser::binary(ExprKind kind, std::string_view name, ExprPtr left,
                                   ExprPtr right) {
  ExprPtr expr = make(kind);
  expr->name = name;
  expr->args.push_back(std::move(left));
  expr->args.push_back(std::move(right));
  return finish(std::move(expr));
}

Result<ExprPtr> ExprParser::parse_expression(bool with_condition) {
  const DepthGuard guard(depth_);
  if (guard.too_deep()) return tokens_.fail("fewer nested brackets");
  ANEMONE_ASSIGN_OR_RETURN(ExprPtr value, parse_or());
  while (with_condition && tokens_.skip_name("if")) {
    ExprPtr expr = make(ExprKind::kCondition);
    ANEMONE_ASSIGN_OR_RETURN(ExprPtr condition, parse_or());
    ExprPtr otherwise;
    if (tokens_.skip_name("else")) {
      ANEMONE_ASSIGN_OR_RETURN(otherwise, parse_expression());
    }
    expr->args.push_back(std::move(value));
    expr->args.push_back(std::move(condition));
    expr->args.push_back(std::move(otherwise));
    ANEMONE_ASSIGN_OR_RETURN(value, finish(std::move(expr)));
  }
  return value;
}

Result<ExprPtr> ExprParser::parse_tuple(bool with_condition) {
  ANEMONE_ASSIGN_OR_RETURN(ExprPtr first, parse_expression(with_condition));
  if (!tokens_.is_operator(",")) return first;
  ExprPtr tuple = make(ExprKind::kTuple);
  tuple->args.push_back(std::move(first));
  while (tokens_.skip_operator(",")) {
    if (tokens_.is(TokenKind::kBlockEnd) || tokens_.is(TokenKind::kVariableEnd) ||
        tokens_.is_operator(")") || tokens_.is_operator("]") || tokens_.is_operator("=") ||
        tokens_.is_name("in"))
      break;
    ANEMONE_ASSIGN_OR_RETURN(ExprPtr next, parse_expression(with_condition));
    tuple->args.push_back(std::move(next));
  }
  return finish(std::move(tuple));
}

Result<ExprPtr> ExprParser::parse_or() {
  ANEMONE_ASSIGN_OR_RETURN(ExprPtr left, parse_and());
  while (tokens_.skip_name("or")) {
    ANEMONE_ASSIGN_OR_RETURN(ExprPtr right, parse_and());
    ANEMONE_ASSIGN_OR_RETURN(left, binary(ExprKind::kOr, "or", std::move(left), std::move(right)));
  }
  return left;
}

Result<ExprPtr> ExprParser::parse_and() {
  ANEMONE_ASSIGN_OR_RETURN(ExprPtr left, parse_not());
  while (tokens_.skip_name("and")) {
    ANEMONE_ASSIGN_OR_RETURN(ExprPtr right, parse_not());
    ANEMONE_ASSIGN_OR_RETURN(left,
                             binary(ExprKind::kAnd, "and", std::move(left), std::move(right)));
  }
  return left;
}

Result<ExprPtr> ExprParser::parse_not() {
  // Counted, not recursive: "not not not ..." may be long.
  int count = 0;
  while (tokens_.skip_name("not")) ++count;
  ANEMONE_ASSIGN_OR_RETURN(ExprPtr value, parse_compare());
  for (; count > 0; --count) {
    ExprPtr expr = make(ExprKind::kNot);
    expr->args.push_back(std::move(value));
    ANEMONE_ASSIGN_OR_RETURN(value, finish(std::move(expr)));
  }
  return value;
}

Result<ExprPtr> ExprParser::parse_compare() {
  static constexpr std::array<std::string_view, 6> kOperators = {"==", "!=", "<", "<=", ">", ">="};
  ANEMONE_ASSIGN_OR_RETURN(ExprPtr first, parse_sum());
  ExprPtr expr;
  while (true) {
    std::string name;
    if (is_one_of(tokens_, kOperators)) {
      name = tokens_.take().text;
    } else if (tokens_.skip_name("in")) {
      name = "in";
    } else if (tokens_.is_name("not") && tokens_.ahead().kind == TokenKind::kName &&
               tokens_.ahead().text == "in") {
      tokens_.take();
      tokens_.take();
      name = "not in";
    } else {
      break;
    }
    if (expr == nullptr) {
      expr = make(ExprKind::kCompare);
      expr->args.push_back(std::move(first));
    }
    ANEMONE_ASSIGN_OR_RETURN(ExprPtr next, parse_sum());
    expr->names.push_back(std::move(name));
    expr->args.push_back(std::move(next));
  }
  return expr == nullptr ? Result<ExprPtr>(std::move(first)) : finish(std::move(expr));
}

Result<ExprPtr> ExprParser::parse_sum() {
  static constexpr std::array<std::string_view, 2> kOperators = {"+", "-"};
  ANEMONE_ASSIGN_OR_RETURN(ExprPtr left, parse_concat());
  while (is_one_of(tokens_, kOperators)) {
    const std::string name = tokens_.take().text;
    ANEMONE_ASSIGN_OR_RETURN(ExprPtr right, parse_concat());
    ANEMONE_ASSIGN_OR_RETURN(left,
                             binary(ExprKind::kBinary, name, std::move(left), std::move(right)));
  }
  return left;
}

Result<ExprPtr> ExprParser::parse_concat() {
  ANEMONE_ASSIGN_OR_RETURN(ExprPtr first, parse_product());
  if (!tokens_.is_operator("~")) return first;
  ExprPtr expr = make(ExprKind::kConcat);
  expr->args.push_back(std::move(first));
  while (tokens_.skip_operator("~")) {
    ANEMONE_ASSIGN_OR_RETURN(ExprPtr next, parse_product());
    expr->args.push_back(std::move(next));
  }
  return finish(std::move(expr));
}

Result<ExprPtr> ExprParser::parse_product() {
  static constexpr std::array<std::string_view, 4> kOperators = {"*", "/", "//", "%"};
  ANEMONE_ASSIGN_OR_RETURN(ExprPtr left, parse_power());
  while (is_one_of(tokens_, kOperators)) {
    const std::string name = tokens_.take().text;
    ANEMONE_ASSIGN_OR_RETURN(ExprPtr right, parse_power());
    ANEMONE_ASSIGN_OR_RETURN(left,
                             binary(ExprKind::kBinary, name, std::move(left), std::move(right)));
  }
  return left;
}

Result<ExprPtr> ExprParser::parse_power() {
  ANEMONE_ASSIGN_OR_RETURN(ExprPtr left, parse_unary(true));
  while (tokens_.skip_operator("**")) {
    ANEMONE_ASSIGN_OR_RETURN(ExprPtr right, parse_unary(true));
    ANEMONE_ASSIGN_OR_RETURN(left,
                             binary(ExprKind::kBinary, "**", std::move(left), std::move(right)));
  }
  return left;
}

Result<ExprPtr> ExprParser::parse_unary(bool with_filter) {
  std::vector<ExprKind> signs;
  while (tokens_.is_operator("-") || tokens_.is_operator("+"))
    signs.push_back(tokens_.take().text == "-" ? ExprKind::kNegate : ExprKind::kPlus);
  ANEMONE_ASSIGN_OR_RETURN(ExprPtr value, parse_primary());
  ANEMONE_ASSIGN_OR_RETURN(value, parse_postfix(std::move(value)));
  for (; !signs.empty(); signs.pop_back()) {
    ExprPtr expr = make(signs.back());
    expr->args.push_back(std::move(value));
    ANEMONE_ASSIGN_OR_RETURN(value, finish(std::move(expr)));
    // Postfixes after a sign belong to the operand and are taken already; filters are not.
  }
  return with_filter ? parse_postfix_filters(std::move(value)) : Result<ExprPtr>(std::move(value));
}

Result<ExprPtr> ExprParser::parse_primary() {
  const Token token = tokens_.current();
  ExprPtr expr = make(ExprKind::kConst);
  switch (token.kind) {
    case TokenKind::kName:
      tokens_.take();
      if (token.text == "true" || token.text == "True") {
        expr->value = Value::boolean(true);
      } else if (token.text == "false" || token.text == "False") {
        expr->value = Value::boolean(false);
      } else if (token.text == "none" || token.text == "None") {
        expr->value = Value::none();
      } else {
        expr->kind = ExprKind::kName;
        expr->name = token.text;
      }
      return expr;
    case TokenKind::kString: {
      // Strings beside each other are one.
      std::string text;
      while (tokens_.is(TokenKind::kString)) text += tokens_.take().text;
      expr->value = Value::text(std::move(text));
      return expr;
    }
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      tokens_.take();
      expr->value = token.value;
      return expr;
    default:
      break;
  }
  if (tokens_.is_operator("(")) return parse_brackets();
  if (tokens_.is_operator("[")) return parse_list();
  if (tokens_.is_operator("{")) return parse_dict();
  return tokens_.fail("an expression");
}

Result<ExprPtr> ExprParser::parse_brackets() {
  tokens_.take();
  if (tokens_.skip_operator(")")) return make(ExprKind::kTuple);
  ANEMONE_ASSIGN_OR_RETURN(ExprPtr value, parse_tuple());
  ANEMONE_RETURN_IF_ERROR(tokens_.expect_operator(")"));
  return value;
}

Result<ExprPtr> ExprParser::parse_list() {
  ExprPtr list = make(ExprKind::kList);
  tokens_.take();
  while (!tokens_.is_operator("]")) {
    if (!list->args.empty()) ANEMONE_RETURN_IF_ERROR(tokens_.expect_operator(","));
    if (tokens_.is_operator("]")) break;
    ANEMONE_ASSIGN_OR_RETURN(ExprPtr item, parse_expression());
    list->args.push_back(std::move(item));
  }
  tokens_.take();
  return finish(std::move(list));
}

Result<ExprPtr> ExprParser::parse_dict() {
  ExprPtr dict = make(ExprKind::kDict);
  tokens_.take();
  while (!tokens_.is_operator("}")) {
    if (!dict->args.empty()) ANEMONE_RETURN_IF_ERROR(tokens_.expect_operator(","));
    if (tokens_.is_operator("}")) break;
    ANEMONE_ASSIGN_OR_RETURN(ExprPtr key, parse_expression());
    ANEMONE_RETURN_IF_ERROR(tokens_.expect_operator(":"));
    ANEMONE_ASSIGN_OR_RETURN(ExprPtr item, parse_expression());
    dict->args.push_back(std::move(key));
    dict->args.push_back(std::move(item));
  }
  tokens_.take();
  return finish(std::move(dict));
}

}  // namespace anemone::text::jinja
