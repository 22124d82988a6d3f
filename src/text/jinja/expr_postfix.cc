// SPDX-License-Identifier: Apache-2.0
// What may follow a value: attributes, subscripts, calls, filters and tests.
#include <algorithm>

#include "text/jinja/expr_parser.h"
#include "text/jinja/filters.h"
#include "text/jinja/tests.h"

namespace anemone::text::jinja {

Result<ExprPtr> ExprParser::parse_postfix(ExprPtr value) {
  while (true) {
    if (tokens_.is_operator(".") || tokens_.is_operator("[")) {
      ANEMONE_ASSIGN_OR_RETURN(value, parse_subscript(std::move(value)));
    } else if (tokens_.is_operator("(")) {
      ANEMONE_ASSIGN_OR_RETURN(value, parse_call(std::move(value)));
    } else {
      return value;
    }
  }
}

Result<ExprPtr> ExprParser::parse_postfix_filters(ExprPtr value) {
  while (true) {
    if (tokens_.skip_operator("|")) {
      ANEMONE_ASSIGN_OR_RETURN(value, parse_filter(std::move(value)));
    } else if (tokens_.skip_name("is")) {
      ANEMONE_ASSIGN_OR_RETURN(value, parse_test(std::move(value)));
    } else if (tokens_.is_operator("(")) {
      ANEMONE_ASSIGN_OR_RETURN(value, parse_call(std::move(value)));
    } else {
      return value;
    }
  }
}

Result<ExprPtr> ExprParser::parse_filter_chain(ExprPtr input) {
  ANEMONE_ASSIGN_OR_RETURN(input, parse_filter(std::move(input)));
  while (tokens_.skip_operator("|")) {
    ANEMONE_ASSIGN_OR_RETURN(input, parse_filter(std::move(input)));
  }
  return input;
}

Result<ExprPtr> ExprParser::parse_filter(ExprPtr input) {
  ExprPtr expr = make(ExprKind::kFilter);
  ANEMONE_ASSIGN_OR_RETURN(expr->name, tokens_.expect_name());
  expr->filter = find_filter(expr->name);
  if (expr->filter == nullptr)
    return parse_error("[chat template] No filter named '{}'. (line {})", expr->name, expr->line);
  expr->args.push_back(std::move(input));
  if (tokens_.is_operator("(")) ANEMONE_RETURN_IF_ERROR(parse_arguments(*expr));
  return finish(std::move(expr));
}

Result<ExprPtr> ExprParser::parse_call(ExprPtr callee) {
  ExprPtr expr = make(ExprKind::kCall);
  expr->args.push_back(std::move(callee));
  ANEMONE_RETURN_IF_ERROR(parse_arguments(*expr));
  return finish(std::move(expr));
}

Status ExprParser::parse_arguments(Expr& call) {
  tokens_.take();  // (
  bool first = true;
  while (!tokens_.is_operator(")")) {
    if (!first) ANEMONE_RETURN_IF_ERROR(tokens_.expect_operator(","));
    first = false;
    if (tokens_.is_operator(")")) break;
    if (tokens_.is_operator("*") || tokens_.is_operator("**"))
      return unsupported("[chat template] expected plain arguments, got * or ** (line {})",
                         tokens_.line());
    const bool named = tokens_.is(TokenKind::kName) &&
                       tokens_.ahead().kind == TokenKind::kOperator && tokens_.ahead().text == "=";
    std::string name;
    if (named) {
      name = tokens_.take().text;
      tokens_.take();
    } else if (!call.named.empty()) {
      return tokens_.fail("a named argument");
    }
    ANEMONE_ASSIGN_OR_RETURN(ExprPtr value, parse_expression());
    if (named)
      call.named.emplace_back(std::move(name), std::move(value));
    else
      call.args.push_back(std::move(value));
  }
  tokens_.take();
  return ok_status();
}

Result<ExprPtr> ExprParser::parse_subscript(ExprPtr value) {
  if (tokens_.skip_operator(".")) {
    ExprPtr expr = make(ExprKind::kGetAttr);
    if (tokens_.is(TokenKind::kInteger)) {
      expr->kind = ExprKind::kGetItem;
      ExprPtr index = make(ExprKind::kConst);
      index->value = tokens_.take().value;
      expr->args.push_back(std::move(value));
      expr->args.push_back(std::move(index));
      return finish(std::move(expr));
    }
    ANEMONE_ASSIGN_OR_RETURN(expr->name, tokens_.expect_name());
    expr->args.push_back(std::move(value));
    return finish(std::move(expr));
  }
  tokens_.take();  // [
  ANEMONE_ASSIGN_OR_RETURN(ExprPtr expr, parse_slice_or_index(std::move(value)));
  ANEMONE_RETURN_IF_ERROR(tokens_.expect_operator("]"));
  return expr;
}

Result<ExprPtr> ExprParser::parse_slice_or_index(ExprPtr value) {
  ExprPtr parts[3];
  bool is_slice = false;
  for (int part = 0; part < 3; ++part) {
    if (!tokens_.is_operator(":") && !tokens_.is_operator("]")) {
      ANEMONE_ASSIGN_OR_RETURN(parts[part], part == 0 ? parse_tuple() : parse_expression());
    }
    if (!tokens_.is_operator(":") || part == 2) break;
    tokens_.take();
    is_slice = true;
  }
  if (!is_slice && parts[0] == nullptr) return tokens_.fail("an index");
  ExprPtr expr = make(is_slice ? ExprKind::kSlice : ExprKind::kGetItem);
  expr->args.push_back(std::move(value));
  expr->args.push_back(std::move(parts[0]));
  if (is_slice) {
    expr->args.push_back(std::move(parts[1]));
    expr->args.push_back(std::move(parts[2]));
  }
  return finish(std::move(expr));
}

Result<ExprPtr> ExprParser::parse_test(ExprPtr value) {
  const bool negated = tokens_.skip_name("not");
  ExprPtr expr = make(ExprKind::kTest);
  ANEMONE_ASSIGN_OR_RETURN(expr->name, tokens_.expect_name());
  expr->test = find_test(expr->name);
  if (expr->test == nullptr)
    return parse_error("[chat template] No test named '{}'. (line {})", expr->name, expr->line);
  expr->args.push_back(std::move(value));
  static constexpr std::array<std::string_view, 6> kNoArgument = {"else", "or", "and",
                                                                  "if",   "in", "not"};
  const bool name_argument =
      tokens_.is(TokenKind::kName) && std::find(kNoArgument.begin(), kNoArgument.end(),
                                                tokens_.current().text) == kNoArgument.end();
  if (tokens_.is_operator("(")) {
    ANEMONE_RETURN_IF_ERROR(parse_arguments(*expr));
  } else if (name_argument || tokens_.is(TokenKind::kString) || tokens_.is(TokenKind::kInteger) ||
             tokens_.is(TokenKind::kFloat) || tokens_.is_operator("[") ||
             tokens_.is_operator("{")) {
    if (tokens_.is_name("is")) return tokens_.fail("one test: they cannot be chained");
    ANEMONE_ASSIGN_OR_RETURN(ExprPtr argument, parse_primary());
    ANEMONE_ASSIGN_OR_RETURN(argument, parse_postfix(std::move(argument)));
    expr->args.push_back(std::move(argument));
  }
  ANEMONE_ASSIGN_OR_RETURN(expr, finish(std::move(expr)));
  if (!negated) return expr;
  ExprPtr negation = make(ExprKind::kNot);
  negation->args.push_back(std::move(expr));
  return finish(std::move(negation));
}

}  // namespace anemone::text::jinja
