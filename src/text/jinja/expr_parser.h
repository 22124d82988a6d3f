// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string_view>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/token_stream.h"

namespace anemone::text::jinja {

// Jinja2's expression grammar by recursive descent, with bounded recursion and tree height.
class ExprParser {
 public:
  explicit ExprParser(TokenStream& tokens) : tokens_(tokens) {}

  // An expression, with "a if b else c" unless `with_condition` is false.
  Result<ExprPtr> parse_expression(bool with_condition = true);
  // An expression or "a, b, c" without brackets around it.
  Result<ExprPtr> parse_tuple(bool with_condition = true);
  // "| filter | filter(...)" around `input`, which may be nullptr: the value of a filter block.
  Result<ExprPtr> parse_filter_chain(ExprPtr input);
  // The name of one filter with its arguments, around `input`.
  Result<ExprPtr> parse_filter(ExprPtr input);
  Result<ExprPtr> parse_call(ExprPtr callee);

 private:
  class DepthGuard;
  Result<ExprPtr> parse_or();
  Result<ExprPtr> parse_and();
  Result<ExprPtr> parse_not();
  Result<ExprPtr> parse_compare();
  Result<ExprPtr> parse_sum();
  Result<ExprPtr> parse_concat();
  Result<ExprPtr> parse_product();
  Result<ExprPtr> parse_power();
  Result<ExprPtr> parse_unary(bool with_filter);
  Result<ExprPtr> parse_primary();
  Result<ExprPtr> parse_postfix(ExprPtr value);
  Result<ExprPtr> parse_postfix_filters(ExprPtr value);
  Result<ExprPtr> parse_subscript(ExprPtr value);
  Result<ExprPtr> parse_slice_or_index(ExprPtr value);
  Result<ExprPtr> parse_test(ExprPtr value);
  Result<ExprPtr> parse_list();
  Result<ExprPtr> parse_dict();
  Result<ExprPtr> parse_brackets();
  Status parse_arguments(Expr& call);

  // Sets the line and height; kParseError when the tree becomes too high.
  Result<ExprPtr> finish(ExprPtr expr);
  ExprPtr make(ExprKind kind) const;
  Result<ExprPtr> binary(ExprKind kind, std::string_view name, ExprPtr left, ExprPtr right);

  TokenStream& tokens_;
  int depth_ = 0;
};

}  // namespace anemone::text::jinja
