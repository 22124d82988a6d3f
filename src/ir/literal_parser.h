// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/lexer.h"
#include "ir/literal.h"
#include "ir/text.h"
#include "ir/type.h"

namespace anemone::ir {

// The part of MIL text below statements: types and literals. Bounded in depth; memory grows with
// the text, never with a size that the text only claims. Single-thread, over a lexer that someone
// else owns.
class LiteralParser {
 public:
  LiteralParser(Lexer& lexer, const ParseOptions& options) : lexer_(lexer), options_(options) {}

  // The current token starts a type, or a literal.
  Result<Type> type() { return type(0); }
  Result<Literal> literal() { return literal(0); }

  // Consumes one symbol.
  Status expect(char symbol);
  // Consumes the symbol if it is there.
  Result<bool> accept(char symbol);
  // Consumes a plain or quoted name.
  Result<std::string> name(std::string_view what);
  Result<std::uint64_t> unsigned_number(std::string_view what);

 private:
  Result<Type> type(int depth);
  Result<Type> tensor_type();
  Result<Literal> literal(int depth);
  Result<Literal> value_of(Type type, int depth);
  Result<Literal> list_value(Type type, int depth);
  Result<Literal> dictionary_value(Type type, int depth);
  Result<Literal> tensor_value(Type type);
  Result<Literal> blob_value(Type type);
  Result<Literal> member(const Type& expected, int depth);

  // Calls `element` once for each element, through the brackets of `shape`.
  template <typename Element>
  Status elements(const Shape& shape, const Element& element);
  template <typename Element>
  Status row(const Shape& shape, std::size_t axis, const Element& element);
  Status number_element(DType dtype, std::vector<std::byte>& bytes,
                        std::vector<std::int32_t>& narrow);
  Status float_element(DType dtype, std::vector<std::byte>& bytes);

  Lexer& lexer_;
  const ParseOptions& options_;
};

}  // namespace anemone::ir
