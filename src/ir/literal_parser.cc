// SPDX-License-Identifier: Apache-2.0
#include "ir/literal_parser.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/parse_number.h"
#include "tensor/bits.h"
#include "tensor/half.h"

namespace anemone::ir {
namespace {

constexpr int kMaxDepth = 16;
constexpr std::size_t kMaxLiteralRank = 16;

template <typename T>
void append(std::vector<std::byte>& bytes, T value) {
  const auto* data = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), data, data + sizeof(T));
}

struct IntegerRange {
  std::int64_t lowest = 0;
  std::uint64_t highest = 0;
};

IntegerRange range_of(DType dtype) {
  const int bits = dtype_bits(dtype);
  const bool is_signed = dtype == DType::kInt4 || dtype == DType::kInt8 || dtype == DType::kInt16 ||
                         dtype == DType::kInt32 || dtype == DType::kInt64;
  if (!is_signed)
    return {0, bits == 64 ? std::numeric_limits<std::uint64_t>::max() : (1ULL << bits) - 1};
  return {bits == 64 ? std::numeric_limits<std::int64_t>::min() : -(std::int64_t{1} << (bits - 1)),
          (1ULL << (bits - 1)) - 1};
}

// The two's complement bits of an integer that lies in the range of `dtype`.
std::optional<std::uint64_t> parse_integer(std::string_view text, DType dtype) {
  const IntegerRange range = range_of(dtype);
  if (text.starts_with('-')) {
    const auto value = parse_number<std::int64_t>(text);
    if (!value || *value < range.lowest) return std::nullopt;
    return static_cast<std::uint64_t>(*value);
  }
  const auto value = parse_number<std::uint64_t>(text);
  return value && *value <= range.highest ? value : std::nullopt;
}

}  // namespace

Status LiteralParser::expect(char symbol) {
  if (!lexer_.token().is(symbol)) return lexer_.expected(fmt::format("'{}'", symbol));
  return lexer_.advance();
}

Result<bool> LiteralParser::accept(char symbol) {
  if (!lexer_.token().is(symbol)) return false;
  ANEMONE_RETURN_IF_ERROR(lexer_.advance());
  return true;
}

Result<std::string> LiteralParser::name(std::string_view what) {
  const Token token = lexer_.token();
  if (token.kind != Token::Kind::kName && token.kind != Token::Kind::kString)
    return lexer_.expected(what);
  ANEMONE_RETURN_IF_ERROR(lexer_.advance());
  return token.kind == Token::Kind::kString ? unquote(token.text) : std::string(token.text);
}

Result<std::uint64_t> LiteralParser::unsigned_number(std::string_view what) {
  const auto value = lexer_.token().kind == Token::Kind::kNumber
                         ? parse_integer(lexer_.token().text, DType::kUInt64)
                         : std::nullopt;
  if (!value) return lexer_.expected(what);
  ANEMONE_RETURN_IF_ERROR(lexer_.advance());
  return *value;
}

Result<Type> LiteralParser::tensor_type() {
  ANEMONE_RETURN_IF_ERROR(expect('<'));
  const auto dtype = parse_dtype(lexer_.token().text);
  if (!dtype) return lexer_.expected("an element type");
  ANEMONE_RETURN_IF_ERROR(lexer_.advance());
  ANEMONE_RETURN_IF_ERROR(expect(','));
  ANEMONE_RETURN_IF_ERROR(expect('['));
  Shape shape;
  while (!lexer_.token().is(']')) {
    if (!shape.empty()) ANEMONE_RETURN_IF_ERROR(expect(','));
    if (shape.size() == kMaxLiteralRank)
      return lexer_.expected(fmt::format("at most {} dimensions", kMaxLiteralRank));
    ANEMONE_ASSIGN_OR_RETURN(const bool is_dynamic, accept('?'));
    if (is_dynamic) {
      shape.push_back(kDynamic);
      continue;
    }
    const Token token = lexer_.token();
    ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t size, unsigned_number("a dimension or '?'"));
    if (size > 1ULL << 48) return lexer_.error_at(token.offset, "expected a dimension up to 2^48");
    shape.push_back(static_cast<std::int64_t>(size));
  }
  ANEMONE_RETURN_IF_ERROR(expect(']'));
  ANEMONE_RETURN_IF_ERROR(expect('>'));
  return Type::tensor(*dtype, std::move(shape));
}

Result<Type> LiteralParser::type(int depth) {
  const Token token = lexer_.token();
  if (depth > kMaxDepth) return lexer_.expected(fmt::format("types nested up to {}", kMaxDepth));
  if (token.kind != Token::Kind::kName) return lexer_.expected("a type");
  if (const auto dtype = parse_dtype(token.text)) {
    ANEMONE_RETURN_IF_ERROR(lexer_.advance());
    return Type::scalar(*dtype);
  }
  if (token.text != "tensor" && token.text != "state" && token.text != "list" &&
      token.text != "dict" && token.text != "tuple")
    return lexer_.expected("a type");
  ANEMONE_RETURN_IF_ERROR(lexer_.advance());
  if (token.text == "tensor") return tensor_type();
  ANEMONE_RETURN_IF_ERROR(expect('<'));
  Type out;
  if (token.text == "tuple") {
    out.kind = Type::Kind::kTuple;
    while (!lexer_.token().is('>')) {
      if (!out.members.empty()) ANEMONE_RETURN_IF_ERROR(expect(','));
      ANEMONE_ASSIGN_OR_RETURN(Type part, type(depth + 1));
      out.members.push_back(std::move(part));
    }
  } else {
    const Token inner_token = lexer_.token();
    ANEMONE_ASSIGN_OR_RETURN(Type inner, type(depth + 1));
    if (token.text == "state") {
      if (!inner.is_tensor()) return lexer_.error_at(inner_token.offset, "expected a tensor type");
      out = Type::state(inner.dtype, std::move(inner.shape));
    } else if (token.text == "list") {
      ANEMONE_RETURN_IF_ERROR(expect(','));
      ANEMONE_ASSIGN_OR_RETURN(const bool is_dynamic, accept('?'));
      std::int64_t length = kDynamic;
      if (!is_dynamic) {
        const Token at = lexer_.token();
        ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t size, unsigned_number("a length or '?'"));
        if (size > 1ULL << 48) return lexer_.error_at(at.offset, "expected a length up to 2^48");
        length = static_cast<std::int64_t>(size);
      }
      out = Type::list(std::move(inner), length);
    } else {
      ANEMONE_RETURN_IF_ERROR(expect(','));
      ANEMONE_ASSIGN_OR_RETURN(Type value, type(depth + 1));
      out = Type::dictionary(std::move(inner), std::move(value));
    }
  }
  ANEMONE_RETURN_IF_ERROR(expect('>'));
  return out;
}

Result<Literal> LiteralParser::literal(int depth) {
  if (depth > kMaxDepth) return lexer_.expected(fmt::format("values nested up to {}", kMaxDepth));
  ANEMONE_ASSIGN_OR_RETURN(Type type, this->type());
  ANEMONE_RETURN_IF_ERROR(expect('('));
  ANEMONE_ASSIGN_OR_RETURN(Literal out, value_of(std::move(type), depth));
  ANEMONE_RETURN_IF_ERROR(expect(')'));
  return out;
}

Result<Literal> LiteralParser::value_of(Type type, int depth) {
  switch (type.kind) {
    case Type::Kind::kTensor:
      if (lexer_.token().text == "BLOBFILE") return blob_value(std::move(type));
      return tensor_value(std::move(type));
    case Type::Kind::kDictionary:
      return dictionary_value(std::move(type), depth);
    case Type::Kind::kState:
      return lexer_.expected("a type that has values, not a state");
    default:
      return list_value(std::move(type), depth);
  }
}

// A bare scalar of the expected type, or a literal with its own type.
Result<Literal> LiteralParser::member(const Type& expected, int depth) {
  const Token& token = lexer_.token();
  const char next = lexer_.next_character();
  if (token.kind == Token::Kind::kName && (next == '(' || next == '<')) return literal(depth + 1);
  if (!expected.is_tensor() || !expected.shape.empty())
    return lexer_.expected("a value of " + to_string(expected));
  return tensor_value(expected);
}

Result<Literal> LiteralParser::list_value(Type type, int depth) {
  ANEMONE_RETURN_IF_ERROR(expect('['));
  Literal::List items;
  // Members of a tuple carry their own types.
  const Type any = Type::list(Type(), 0);
  const Type member_type = type.kind == Type::Kind::kList ? type.members[0] : any;
  while (!lexer_.token().is(']')) {
    if (!items.empty()) ANEMONE_RETURN_IF_ERROR(expect(','));
    ANEMONE_ASSIGN_OR_RETURN(Literal item, member(member_type, depth));
    items.push_back(std::move(item));
  }
  ANEMONE_RETURN_IF_ERROR(expect(']'));
  return Literal(std::move(type), std::move(items));
}

Result<Literal> LiteralParser::dictionary_value(Type type, int depth) {
  ANEMONE_RETURN_IF_ERROR(expect('{'));
  Literal::Dictionary entries;
  while (!lexer_.token().is('}')) {
    if (!entries.empty()) ANEMONE_RETURN_IF_ERROR(expect(','));
    ANEMONE_RETURN_IF_ERROR(expect('{'));
    ANEMONE_ASSIGN_OR_RETURN(Literal key, member(type.members[0], depth));
    ANEMONE_RETURN_IF_ERROR(expect(','));
    ANEMONE_ASSIGN_OR_RETURN(Literal value, member(type.members[1], depth));
    ANEMONE_RETURN_IF_ERROR(expect('}'));
    entries.emplace_back(std::move(key), std::move(value));
  }
  ANEMONE_RETURN_IF_ERROR(expect('}'));
  return Literal(std::move(type), std::move(entries));
}

template <typename Element>
Status LiteralParser::row(const Shape& shape, std::size_t axis, const Element& element) {
  const Token open = lexer_.token();
  ANEMONE_RETURN_IF_ERROR(expect('['));
  std::int64_t count = 0;
  while (!lexer_.token().is(']')) {
    if (count > 0) ANEMONE_RETURN_IF_ERROR(expect(','));
    ANEMONE_RETURN_IF_ERROR(axis + 1 < shape.size() ? row(shape, axis + 1, element) : element());
    ++count;
  }
  if (count != shape[axis])
    return lexer_.error_at(open.offset,
                           fmt::format("expected {} elements, got {}", shape[axis], count));
  return lexer_.advance();
}

template <typename Element>
Status LiteralParser::elements(const Shape& shape, const Element& element) {
  if (shape.empty()) return element();
  const auto count = checked_element_count(shape);
  if (!is_static(shape) || !count.ok())
    return lexer_.expected("a value of fixed shape, not of " + anemone::to_string(shape));
  if (*count > 0) return row(shape, 0, element);
  ANEMONE_RETURN_IF_ERROR(expect('['));
  return expect(']');
}

Result<Literal> LiteralParser::tensor_value(Type type) {
  if (type.dtype == DType::kString) {
    Literal::Strings strings;
    ANEMONE_RETURN_IF_ERROR(elements(type.shape, [&]() -> Status {
      if (lexer_.token().kind != Token::Kind::kString) return lexer_.expected("a string");
      strings.push_back(unquote(lexer_.token().text));
      return lexer_.advance();
    }));
    return Literal(std::move(type), std::move(strings));
  }
  std::vector<std::byte> bytes;
  std::vector<std::int32_t> narrow;
  ANEMONE_RETURN_IF_ERROR(
      elements(type.shape, [&] { return number_element(type.dtype, bytes, narrow); }));
  // The elements are all there, so the shape claims no more than the text holds.
  Tensor tensor(type.dtype, type.shape);
  const auto out = tensor.mutable_view();
  if (is_sub_byte(type.dtype))
    pack_bits(narrow, type.dtype, out.bytes());
  else if (!bytes.empty())
    std::memcpy(out.data, bytes.data(), bytes.size());
  return Literal(std::move(type), owned_data(std::move(tensor)));
}

Status LiteralParser::number_element(DType dtype, std::vector<std::byte>& bytes,
                                     std::vector<std::int32_t>& narrow) {
  if (is_float(dtype)) return float_element(dtype, bytes);
  const Token& token = lexer_.token();
  if (dtype == DType::kBool) {
    if (token.text != "true" && token.text != "false") return lexer_.expected("true or false");
    bytes.push_back(token.text == "true" ? std::byte{1} : std::byte{0});
    return lexer_.advance();
  }
  const auto value =
      token.kind == Token::Kind::kNumber ? parse_integer(token.text, dtype) : std::nullopt;
  if (!value) return lexer_.expected(fmt::format("an {} value", dtype_name(dtype)));
  if (is_sub_byte(dtype)) {
    narrow.push_back(static_cast<std::int32_t>(*value));
  } else {
    const auto* data = reinterpret_cast<const std::byte*>(&*value);
    bytes.insert(bytes.end(), data, data + dtype_bits(dtype) / 8);
  }
  return lexer_.advance();
}

Status LiteralParser::float_element(DType dtype, std::vector<std::byte>& bytes) {
  const Token token = lexer_.token();
  const std::size_t width = static_cast<std::size_t>(dtype_bits(dtype)) / 8;
  if (token.kind == Token::Kind::kName && token.text == "bits") {
    ANEMONE_RETURN_IF_ERROR(lexer_.advance());
    const std::string_view text = lexer_.token().text;
    std::uint64_t bits = 0;
    const char* end = text.data() + text.size();
    if (!text.starts_with("0x")) return lexer_.expected("0x and hexadecimal digits");
    const auto [stop, error] = std::from_chars(text.data() + 2, end, bits, 16);
    if (error != std::errc() || stop != end || (width < 8 && bits >> (8 * width) != 0))
      return lexer_.expected(fmt::format("the {} bytes of an {}", width, dtype_name(dtype)));
    const auto* data = reinterpret_cast<const std::byte*>(&bits);
    bytes.insert(bytes.end(), data, data + width);
    return lexer_.advance();
  }
  double value = 0;
  if (token.text == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (token.text == "inf" || token.text == "-inf") {
    value = token.text == "inf" ? std::numeric_limits<double>::infinity()
                                : -std::numeric_limits<double>::infinity();
  } else {
    constexpr std::size_t kMaxDigits = 400;
    const std::string text(token.text);
    char* end = nullptr;
    if (token.kind == Token::Kind::kNumber && text.size() <= kMaxDigits)
      value = std::strtod(text.c_str(), &end);
    if (end == nullptr || *end != '\0' || end == text.c_str())
      return lexer_.expected(fmt::format("an {} value", dtype_name(dtype)));
  }
  switch (dtype) {
    case DType::kFp16:
      append(bytes, to_half(static_cast<float>(value)).bits);
      break;
    case DType::kBf16:
      append(bytes, to_bfloat16(static_cast<float>(value)).bits);
      break;
    case DType::kFp32:
      append(bytes, static_cast<float>(value));
      break;
    default:
      append(bytes, value);
  }
  return lexer_.advance();
}

// BLOBFILE(path = string("..."), offset = uint64(64)), in either syntax.
Result<Literal> LiteralParser::blob_value(Type type) {
  const Token start = lexer_.token();
  ANEMONE_RETURN_IF_ERROR(lexer_.advance());
  ANEMONE_RETURN_IF_ERROR(expect('('));
  if (lexer_.token().text != "path") return lexer_.expected("path");
  ANEMONE_RETURN_IF_ERROR(lexer_.advance());
  ANEMONE_RETURN_IF_ERROR(expect('='));
  const Token path_token = lexer_.token();
  ANEMONE_ASSIGN_OR_RETURN(const Literal path, literal(0));
  if (!path.as_text()) return lexer_.error_at(path_token.offset, "expected a string");
  ANEMONE_RETURN_IF_ERROR(expect(','));
  if (lexer_.token().text != "offset") return lexer_.expected("offset");
  ANEMONE_RETURN_IF_ERROR(lexer_.advance());
  ANEMONE_RETURN_IF_ERROR(expect('='));
  const Token offset_token = lexer_.token();
  ANEMONE_ASSIGN_OR_RETURN(const Type offset_type, this->type());
  if (offset_type != Type::scalar(DType::kUInt64))
    return lexer_.error_at(offset_token.offset, "expected uint64");
  ANEMONE_RETURN_IF_ERROR(expect('('));
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t offset, unsigned_number("an offset"));
  ANEMONE_RETURN_IF_ERROR(expect(')'));
  ANEMONE_RETURN_IF_ERROR(expect(')'));
  const Status place = lexer_.error_at(start.offset, "a constant in a blob file");
  if (!options_.blob)
    return unsupported("{}: expected the blob file beside the text", place.message());
  if (!is_static(type.shape)) return lexer_.error_at(start.offset, "expected a fixed shape");
  auto loaded = options_.blob(type, *path.as_text(), offset);
  if (!loaded.ok()) return loaded.status().with(place.message());
  return loaded;
}

}  // namespace anemone::ir
