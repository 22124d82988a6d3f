// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "ir/lexer.h"
#include "ir/literal_parser.h"
#include "ir/text.h"

namespace anemone::ir {
namespace {

class Parser {
 public:
  Parser(std::string_view text, std::string_view subject, const ParseOptions& options)
      : lexer_(text, subject), literals_(lexer_, options) {}

  Result<Program> program() {
    ANEMONE_RETURN_IF_ERROR(lexer_.start());
    ANEMONE_RETURN_IF_ERROR(keyword("program"));
    ANEMONE_RETURN_IF_ERROR(literals_.expect('('));
    ANEMONE_RETURN_IF_ERROR(version());
    ANEMONE_RETURN_IF_ERROR(literals_.expect(')'));
    if (lexer_.token().is('[')) ANEMONE_RETURN_IF_ERROR(attributes(nullptr, program_.attributes));
    ANEMONE_RETURN_IF_ERROR(literals_.expect('{'));
    while (!lexer_.token().is('}')) ANEMONE_RETURN_IF_ERROR(function());
    ANEMONE_RETURN_IF_ERROR(lexer_.advance());
    if (lexer_.token().kind != Token::Kind::kEnd) return lexer_.expected("the end of the text");
    return std::move(program_);
  }

 private:
  Status keyword(std::string_view word) {
    if (lexer_.token().kind != Token::Kind::kName || lexer_.token().text != word)
      return lexer_.expected(word);
    return lexer_.advance();
  }

  Status arrow() {
    if (lexer_.token().text != "->") return lexer_.expected("'->'");
    return lexer_.advance();
  }

  // "1.0": the part after the point is the text format's own.
  Status version() {
    const std::string_view text = lexer_.token().text;
    const std::string_view major = text.substr(0, text.find('.'));
    const bool is_number =
        !major.empty() && major.size() <= 9 &&
        std::all_of(major.begin(), major.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (lexer_.token().kind != Token::Kind::kNumber || !is_number)
      return lexer_.expected("a version like 1.0");
    program_.version = std::stol(std::string(major));
    return lexer_.advance();
  }

  Status function() {
    ANEMONE_RETURN_IF_ERROR(keyword("func"));
    const Token token = lexer_.token();
    ANEMONE_ASSIGN_OR_RETURN(std::string name, literals_.name("a function name"));
    if (program_.function(name) != nullptr)
      return lexer_.error_at(token.offset, "expected a new function name, got one that is taken");
    ANEMONE_RETURN_IF_ERROR(literals_.expect('<'));
    const auto opset = parse_opset_target(lexer_.token().text);
    if (!opset) return lexer_.expected("a target like ios18");
    ANEMONE_RETURN_IF_ERROR(lexer_.advance());
    ANEMONE_RETURN_IF_ERROR(literals_.expect('>'));
    Function* function = program_.add_function(std::move(name), *opset);
    scope_.clear();
    ANEMONE_RETURN_IF_ERROR(parameters(function->inputs));
    ANEMONE_RETURN_IF_ERROR(block(*function->block, 0));
    return literals_.expect(';');
  }

  // ( type name, ... )
  Status parameters(std::vector<Value*>& out) {
    ANEMONE_RETURN_IF_ERROR(literals_.expect('('));
    while (!lexer_.token().is(')')) {
      if (!out.empty()) ANEMONE_RETURN_IF_ERROR(literals_.expect(','));
      ANEMONE_ASSIGN_OR_RETURN(Value * value, declaration(nullptr));
      ANEMONE_RETURN_IF_ERROR(define(value, lexer_.token().offset));
      out.push_back(value);
    }
    return lexer_.advance();
  }

  Result<Value*> declaration(Op* producer) {
    ANEMONE_ASSIGN_OR_RETURN(Type type, literals_.type());
    ANEMONE_ASSIGN_OR_RETURN(std::string name, literals_.name("a name"));
    return program_.add_value(std::move(name), std::move(type), producer);
  }

  Status define(Value* value, std::size_t offset) {
    if (!scope_.emplace(value->name, value).second)
      return lexer_.error_at(offset, "expected a new name, got one that is defined already");
    defined_.push_back(value);
    return {};
  }

  Result<Value*> use() {
    const Token token = lexer_.token();
    ANEMONE_ASSIGN_OR_RETURN(const std::string name, literals_.name("a name"));
    const auto it = scope_.find(name);
    if (it == scope_.end())
      return lexer_.error_at(token.offset, "expected a name that is defined before its use");
    return it->second;
  }

  // { operations } -> ( names )
  Status block(Block& block, int depth) {
    if (depth > kMaxBlockDepth)
      return lexer_.expected(fmt::format("blocks nested up to {}", kMaxBlockDepth));
    ANEMONE_RETURN_IF_ERROR(literals_.expect('{'));
    while (!lexer_.token().is('}')) {
      Op* op = program_.add_op();
      block.ops.push_back(op);
      ANEMONE_RETURN_IF_ERROR(this->op(*op, depth));
    }
    ANEMONE_RETURN_IF_ERROR(lexer_.advance());
    ANEMONE_RETURN_IF_ERROR(arrow());
    ANEMONE_RETURN_IF_ERROR(literals_.expect('('));
    while (!lexer_.token().is(')')) {
      if (!block.outputs.empty()) ANEMONE_RETURN_IF_ERROR(literals_.expect(','));
      ANEMONE_ASSIGN_OR_RETURN(Value * value, use());
      block.outputs.push_back(value);
    }
    return lexer_.advance();
  }

  // type name, ... = operation(parameter = argument, ...)[attributes] block(...) {...} -> (...) ...
  // ;
  Status op(Op& op, int depth) {
    const std::size_t start = lexer_.token().offset;
    while (lexer_.next_character() != '(') {
      if (!op.outputs.empty()) ANEMONE_RETURN_IF_ERROR(literals_.expect(','));
      ANEMONE_ASSIGN_OR_RETURN(Value * value, declaration(&op));
      op.outputs.push_back(value);
      if (lexer_.token().is(',')) continue;
      ANEMONE_RETURN_IF_ERROR(literals_.expect('='));
      break;
    }
    ANEMONE_ASSIGN_OR_RETURN(op.type, literals_.name("an operation"));
    ANEMONE_RETURN_IF_ERROR(inputs(op));
    ANEMONE_RETURN_IF_ERROR(attributes(&op.name, op.attributes));
    while (lexer_.token().kind == Token::Kind::kName && lexer_.token().text == "block") {
      ANEMONE_RETURN_IF_ERROR(lexer_.advance());
      Block* inner = program_.add_block();
      op.blocks.push_back(inner);
      const std::size_t mark = defined_.size();
      ANEMONE_RETURN_IF_ERROR(parameters(inner->inputs));
      ANEMONE_RETURN_IF_ERROR(block(*inner, depth + 1));
      for (; defined_.size() > mark; defined_.pop_back()) scope_.erase(defined_.back()->name);
    }
    for (Value* output : op.outputs) ANEMONE_RETURN_IF_ERROR(define(output, start));
    return literals_.expect(';');
  }

  Status inputs(Op& op) {
    ANEMONE_RETURN_IF_ERROR(literals_.expect('('));
    while (!lexer_.token().is(')')) {
      if (!op.inputs.empty()) ANEMONE_RETURN_IF_ERROR(literals_.expect(','));
      const Token token = lexer_.token();
      ANEMONE_ASSIGN_OR_RETURN(std::string parameter, literals_.name("a parameter"));
      ANEMONE_RETURN_IF_ERROR(literals_.expect('='));
      ANEMONE_ASSIGN_OR_RETURN(Arguments arguments, this->arguments());
      if (!op.inputs.emplace(std::move(parameter), std::move(arguments)).second)
        return lexer_.error_at(token.offset, "expected a new parameter, got one that is bound");
    }
    return lexer_.advance();
  }

  Result<Arguments> arguments() {
    Arguments out;
    ANEMONE_ASSIGN_OR_RETURN(const bool is_tuple, literals_.accept('('));
    if (!is_tuple) {
      ANEMONE_ASSIGN_OR_RETURN(Argument argument, this->argument());
      out.push_back(std::move(argument));
      return out;
    }
    while (!lexer_.token().is(')')) {
      if (!out.empty()) ANEMONE_RETURN_IF_ERROR(literals_.expect(','));
      ANEMONE_ASSIGN_OR_RETURN(Argument argument, this->argument());
      out.push_back(std::move(argument));
    }
    ANEMONE_RETURN_IF_ERROR(lexer_.advance());
    return out;
  }

  // Types are followed by '(' or '<', names never are.
  Result<Argument> argument() {
    const char next = lexer_.next_character();
    if (lexer_.token().kind == Token::Kind::kName && (next == '(' || next == '<')) {
      ANEMONE_ASSIGN_OR_RETURN(Literal literal, literals_.literal());
      return Argument(std::move(literal));
    }
    ANEMONE_ASSIGN_OR_RETURN(Value * value, use());
    return Argument(value);
  }

  // [key = literal, ...]; `name` takes the key of that name when it is wanted.
  Status attributes(std::string* name, std::map<std::string, Literal, std::less<>>& out) {
    ANEMONE_RETURN_IF_ERROR(literals_.expect('['));
    bool is_first = true;
    bool has_name = false;
    while (!lexer_.token().is(']')) {
      if (!is_first) ANEMONE_RETURN_IF_ERROR(literals_.expect(','));
      is_first = false;
      const Token token = lexer_.token();
      ANEMONE_ASSIGN_OR_RETURN(std::string key, literals_.name("an attribute"));
      ANEMONE_RETURN_IF_ERROR(literals_.expect('='));
      const Token value_token = lexer_.token();
      ANEMONE_ASSIGN_OR_RETURN(Literal literal, literals_.literal());
      bool is_new = true;
      if (name != nullptr && key == "name") {
        if (!literal.as_text() || !literal.type().shape.empty())
          return lexer_.error_at(value_token.offset, "expected a string as name");
        is_new = !has_name;
        has_name = true;
        *name = std::string(*literal.as_text());
      } else {
        is_new = out.emplace(std::move(key), std::move(literal)).second;
      }
      if (!is_new)
        return lexer_.error_at(token.offset, "expected a new attribute, got one that is set");
    }
    return lexer_.advance();
  }

  Lexer lexer_;
  LiteralParser literals_;
  Program program_;
  // Names that can be used here, and the order in which they came, to close a block's scope.
  std::unordered_map<std::string, Value*> scope_;
  std::vector<Value*> defined_;
};

}  // namespace

Result<Program> parse(std::string_view text, std::string_view subject,
                      const ParseOptions& options) {
  return Parser(text, subject, options).program();
}

}  // namespace anemone::ir
