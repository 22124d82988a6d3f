// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/parser.h"

#include <algorithm>
#include <initializer_list>

#include "base/error.h"
#include "text/jinja/expr_parser.h"
#include "text/jinja/token_stream.h"

namespace anemone::text::jinja {
namespace {

constexpr int kMaxBlockDepth = 60;

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)), expressions_(tokens_) {}

  Result<Block> run() {
    ANEMONE_ASSIGN_OR_RETURN(Block body, parse_block({}));
    if (!tokens_.is(TokenKind::kEnd)) return tokens_.fail("the end of the template");
    return body;
  }

 private:
  using Names = std::initializer_list<std::string_view>;

  StmtPtr make(StmtKind kind) const {
    auto stmt = std::make_unique<Stmt>();
    stmt->kind = kind;
    stmt->line = tokens_.line();
    return stmt;
  }
  Status block_end() { return tokens_.expect(TokenKind::kBlockEnd, "%}"); }

  // Statements up to the tag with one of the names, or to the end when there are none. Stands on
  // the name afterwards.
  Result<Block> parse_block(Names until) {
    if (++depth_ > kMaxBlockDepth) return tokens_.fail("fewer nested blocks");
    Block body;
    while (!tokens_.is(TokenKind::kEnd)) {
      if (tokens_.is(TokenKind::kText)) {
        StmtPtr stmt = make(StmtKind::kText);
        stmt->text = tokens_.take().text;
        body.push_back(std::move(stmt));
      } else if (tokens_.is(TokenKind::kVariableBegin)) {
        tokens_.take();
        StmtPtr stmt = make(StmtKind::kPrint);
        ANEMONE_ASSIGN_OR_RETURN(stmt->expr, expressions_.parse_tuple());
        ANEMONE_RETURN_IF_ERROR(tokens_.expect(TokenKind::kVariableEnd, "}}"));
        body.push_back(std::move(stmt));
      } else {
        ANEMONE_RETURN_IF_ERROR(tokens_.expect(TokenKind::kBlockBegin, "text or a tag"));
        if (!tokens_.is(TokenKind::kName)) return tokens_.fail("the name of a statement");
        if (std::find(until.begin(), until.end(), tokens_.current().text) != until.end()) {
          --depth_;
          return body;
        }
        ANEMONE_ASSIGN_OR_RETURN(StmtPtr stmt, parse_statement());
        body.push_back(std::move(stmt));
      }
    }
    --depth_;
    if (until.size() > 0) return tokens_.fail(fmt::format("{{% {} %}}", *(until.end() - 1)));
    return body;
  }

  // The body of a statement, then "name %}".
  Result<Block> parse_body(std::string_view end_name) {
    ANEMONE_RETURN_IF_ERROR(block_end());
    ANEMONE_ASSIGN_OR_RETURN(Block body, parse_block({end_name}));
    tokens_.take();
    ANEMONE_RETURN_IF_ERROR(block_end());
    return body;
  }

  Result<StmtPtr> parse_statement() {
    const std::string name = tokens_.current().text;
    if (name == "if") return parse_if();
    if (name == "for") return parse_for();
    if (name == "set") return parse_set();
    if (name == "macro") return parse_macro();
    if (name == "call") return parse_call_block();
    if (name == "filter") return parse_filter_block();
    if (name == "with") return parse_with();
    if (name == "generation") return parse_generation();
    if (name == "break" || name == "continue") {
      if (loop_depth_ == 0) return tokens_.fail("a loop around break or continue");
      StmtPtr stmt = make(name == "break" ? StmtKind::kBreak : StmtKind::kContinue);
      tokens_.take();
      ANEMONE_RETURN_IF_ERROR(block_end());
      return stmt;
    }
    if (name == "include" || name == "import" || name == "from" || name == "extends" ||
        name == "block")
      return unsupported("[chat template] expected a template of one file, got {} (line {})", name,
                         tokens_.line());
    return tokens_.fail("a known statement");
  }

  Result<StmtPtr> parse_if() {
    StmtPtr stmt = make(StmtKind::kIf);
    while (true) {
      tokens_.take();  // if, elif
      Branch branch;
      ANEMONE_ASSIGN_OR_RETURN(branch.condition, expressions_.parse_tuple());
      ANEMONE_RETURN_IF_ERROR(block_end());
      ANEMONE_ASSIGN_OR_RETURN(branch.body, parse_block({"elif", "else", "endif"}));
      stmt->branches.push_back(std::move(branch));
      if (tokens_.is_name("elif")) continue;
      if (tokens_.skip_name("else")) {
        ANEMONE_ASSIGN_OR_RETURN(stmt->otherwise, parse_body("endif"));
        return stmt;
      }
      tokens_.take();
      ANEMONE_RETURN_IF_ERROR(block_end());
      return stmt;
    }
  }

  // Names, "a, b" or "(a, b)"; with `allow_attribute` also "namespace.name".
  Result<Target> parse_target(bool allow_attribute) {
    Target target;
    const bool brackets = tokens_.skip_operator("(");
    target.is_tuple = brackets;
    while (true) {
      ANEMONE_ASSIGN_OR_RETURN(std::string name, tokens_.expect_name());
      if (name == "true" || name == "false" || name == "none" || name == "True" ||
          name == "False" || name == "None" || name == "loop")
        return tokens_.fail("a name that can be assigned");
      target.names.push_back(std::move(name));
      if (allow_attribute && target.names.size() == 1 && tokens_.skip_operator(".")) {
        ANEMONE_ASSIGN_OR_RETURN(target.attribute, tokens_.expect_name());
        return target;
      }
      if (!tokens_.skip_operator(",")) break;
      target.is_tuple = true;
      if (!tokens_.is(TokenKind::kName) || tokens_.is_name("in")) break;
    }
    if (brackets) ANEMONE_RETURN_IF_ERROR(tokens_.expect_operator(")"));
    return target;
  }

  Result<StmtPtr> parse_for() {
    StmtPtr stmt = make(StmtKind::kFor);
    tokens_.take();
    ANEMONE_ASSIGN_OR_RETURN(stmt->target, parse_target(false));
    if (!tokens_.skip_name("in")) return tokens_.fail("in");
    ANEMONE_ASSIGN_OR_RETURN(stmt->expr, expressions_.parse_tuple(false));
    if (tokens_.skip_name("if")) {
      ANEMONE_ASSIGN_OR_RETURN(stmt->condition, expressions_.parse_expression());
    }
    stmt->recursive = tokens_.skip_name("recursive");
    ANEMONE_RETURN_IF_ERROR(block_end());
    ++loop_depth_;
    ANEMONE_ASSIGN_OR_RETURN(stmt->body, parse_block({"else", "endfor"}));
    --loop_depth_;
    if (tokens_.skip_name("else")) {
      ANEMONE_ASSIGN_OR_RETURN(stmt->otherwise, parse_body("endfor"));
      return stmt;
    }
    tokens_.take();
    ANEMONE_RETURN_IF_ERROR(block_end());
    return stmt;
  }

  Result<StmtPtr> parse_set() {
    StmtPtr stmt = make(StmtKind::kSet);
    tokens_.take();
    ANEMONE_ASSIGN_OR_RETURN(stmt->target, parse_target(true));
    if (tokens_.skip_operator("=")) {
      ANEMONE_ASSIGN_OR_RETURN(stmt->expr, expressions_.parse_tuple());
      ANEMONE_RETURN_IF_ERROR(block_end());
      return stmt;
    }
    stmt->kind = StmtKind::kSetBlock;
    if (stmt->target.is_tuple) return tokens_.fail("one name before a set block");
    if (tokens_.skip_operator("|")) {
      ANEMONE_ASSIGN_OR_RETURN(stmt->filter, expressions_.parse_filter_chain(nullptr));
    }
    ANEMONE_ASSIGN_OR_RETURN(stmt->body, parse_body("endset"));
    return stmt;
  }

  Status parse_parameters(Stmt& stmt) {
    ANEMONE_RETURN_IF_ERROR(tokens_.expect_operator("("));
    while (!tokens_.is_operator(")")) {
      if (!stmt.parameters.empty()) ANEMONE_RETURN_IF_ERROR(tokens_.expect_operator(","));
      if (tokens_.is_operator(")")) break;
      Parameter parameter;
      ANEMONE_ASSIGN_OR_RETURN(parameter.name, tokens_.expect_name());
      if (tokens_.skip_operator("=")) {
        ANEMONE_ASSIGN_OR_RETURN(parameter.fallback, expressions_.parse_expression());
      } else if (!stmt.parameters.empty() && stmt.parameters.back().fallback != nullptr) {
        return tokens_.fail("a default: one came before");
      }
      stmt.parameters.push_back(std::move(parameter));
    }
    tokens_.take();
    return ok_status();
  }

  // Break and continue do not leave a macro.
  Result<Block> parse_closed_body(std::string_view end_name) {
    const int loops = std::exchange(loop_depth_, 0);
    ANEMONE_ASSIGN_OR_RETURN(Block body, parse_body(end_name));
    loop_depth_ = loops;
    return body;
  }

  Result<StmtPtr> parse_macro() {
    StmtPtr stmt = make(StmtKind::kMacro);
    tokens_.take();
    ANEMONE_ASSIGN_OR_RETURN(stmt->text, tokens_.expect_name());
    ANEMONE_RETURN_IF_ERROR(parse_parameters(*stmt));
    ANEMONE_ASSIGN_OR_RETURN(stmt->body, parse_closed_body("endmacro"));
    return stmt;
  }

  Result<StmtPtr> parse_call_block() {
    StmtPtr stmt = make(StmtKind::kCallBlock);
    tokens_.take();
    stmt->text = "caller";
    if (tokens_.is_operator("(")) ANEMONE_RETURN_IF_ERROR(parse_parameters(*stmt));
    ANEMONE_ASSIGN_OR_RETURN(stmt->expr, expressions_.parse_expression());
    if (stmt->expr->kind != ExprKind::kCall) return tokens_.fail("a call after {% call");
    ANEMONE_ASSIGN_OR_RETURN(stmt->body, parse_closed_body("endcall"));
    return stmt;
  }

  Result<StmtPtr> parse_filter_block() {
    StmtPtr stmt = make(StmtKind::kFilter);
    tokens_.take();
    ANEMONE_ASSIGN_OR_RETURN(stmt->filter, expressions_.parse_filter_chain(nullptr));
    ANEMONE_ASSIGN_OR_RETURN(stmt->body, parse_body("endfilter"));
    return stmt;
  }

  Result<StmtPtr> parse_with() {
    StmtPtr stmt = make(StmtKind::kWith);
    tokens_.take();
    while (!tokens_.is(TokenKind::kBlockEnd)) {
      if (!stmt->parameters.empty()) ANEMONE_RETURN_IF_ERROR(tokens_.expect_operator(","));
      Parameter variable;
      ANEMONE_ASSIGN_OR_RETURN(variable.name, tokens_.expect_name());
      ANEMONE_RETURN_IF_ERROR(tokens_.expect_operator("="));
      ANEMONE_ASSIGN_OR_RETURN(variable.fallback, expressions_.parse_expression());
      stmt->parameters.push_back(std::move(variable));
    }
    ANEMONE_ASSIGN_OR_RETURN(stmt->body, parse_body("endwith"));
    return stmt;
  }

  Result<StmtPtr> parse_generation() {
    StmtPtr stmt = make(StmtKind::kScope);
    tokens_.take();
    ANEMONE_ASSIGN_OR_RETURN(stmt->body, parse_closed_body("endgeneration"));
    return stmt;
  }

  TokenStream tokens_;
  ExprParser expressions_;
  int depth_ = 0;
  int loop_depth_ = 0;
};

}  // namespace

Result<Block> parse_template(std::string_view source) {
  if (source.size() > kMaxTemplateBytes)
    return parse_error("[chat template] expected at most {} bytes, got {}", kMaxTemplateBytes,
                       source.size());
  ANEMONE_ASSIGN_OR_RETURN(std::vector<Token> tokens, tokenize_template(source));
  return Parser(std::move(tokens)).run();
}

}  // namespace anemone::text::jinja
