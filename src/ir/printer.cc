// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <iterator>

#include "base/escape.h"
#include "ir/text.h"
#include "tensor/half.h"

namespace anemone::ir {
namespace {

constexpr std::string_view kFunctionIndent = "    ";

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    // A character that moves a cursor is written byte by byte, so that it is read as it was.
    const std::size_t shown = printable_length(text.substr(at));
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (shown == 0) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += text.substr(at, shown);
    }
    at += std::max<std::size_t>(shown, 1);
  }
  return out + '"';
}

// A lawful program has identifiers only; the text of another one is still readable and parses.
std::string name_text(std::string_view name) {
  return is_identifier(name) ? std::string(name) : quoted(name);
}

// Bits of a float element and what they stand for. NaN has many forms: all but the plain one are
// written as bits, so that the text is exact.
struct FloatElement {
  double value = 0;
  std::uint64_t bits = 0;
  std::uint64_t plain_nan = 0;
};

template <typename Bits>
Bits read_bits(const std::byte* data) {
  Bits bits;
  std::memcpy(&bits, data, sizeof(bits));
  return bits;
}

FloatElement float_element(DType dtype, const std::byte* data, std::size_t i) {
  switch (dtype) {
    case DType::kFp16: {
      const auto bits = read_bits<std::uint16_t>(data + 2 * i);
      return {to_float(Half{bits}), bits, 0x7e00};
    }
    case DType::kBf16: {
      const auto bits = read_bits<std::uint16_t>(data + 2 * i);
      return {to_float(BFloat16{bits}), bits, 0x7fc0};
    }
    case DType::kFp32: {
      const auto bits = read_bits<std::uint32_t>(data + 4 * i);
      return {std::bit_cast<float>(bits), bits, 0x7fc00000};
    }
    default: {
      const auto bits = read_bits<std::uint64_t>(data + 8 * i);
      return {std::bit_cast<double>(bits), bits, 0x7ff8000000000000};
    }
  }
}

std::string float_text(const FloatElement& element) {
  if (std::isnan(element.value))
    return element.bits == element.plain_nan ? "nan" : fmt::format("bits {:#x}", element.bits);
  if (std::isinf(element.value)) return element.value > 0 ? "inf" : "-inf";
  return fmt::format("{:a}", element.value);
}

class Printer {
 public:
  Printer(const PrintOptions& options, Syntax syntax) : options_(options), syntax_(syntax) {}

  std::string program(const Program& program) {
    add("program({}.{})\n", program.version, syntax_ == Syntax::kScalars ? 3 : 0);
    if (!program.attributes.empty()) {
      attributes(nullptr, program.attributes);
      add("\n");
    }
    add("{{\n");
    for (const Function* function : program.functions()) this->function(*function);
    add("}}\n");
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  std::string type_text(const Type& type) const { return to_string(type, syntax_); }
  std::string scalar_type(DType dtype) const { return type_text(Type::scalar(dtype)); }

  void function(const Function& function) {
    add("{}func {}<{}>(", kFunctionIndent, name_text(function.name), opset_target(function.opset));
    declarations(function.inputs);
    out_ += ") ";
    block(*function.block, std::string(kFunctionIndent));
    out_ += ";\n";
  }

  void declarations(const std::vector<Value*>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      add("{}{} {}", i > 0 ? ", " : "", type_text(values[i]->type), name_text(values[i]->name));
  }

  void block(const Block& block, const std::string& indent) {
    out_ += "{\n";
    const std::string inner = indent + std::string(kFunctionIndent);
    for (const Op* op : block.ops) this->op(*op, inner);
    add("{}}} -> (", indent);
    for (std::size_t i = 0; i < block.outputs.size(); ++i)
      add("{}{}", i > 0 ? ", " : "", name_text(block.outputs[i]->name));
    out_ += ')';
  }

  void op(const Op& op, const std::string& indent) {
    out_ += indent;
    declarations(op.outputs);
    if (!op.outputs.empty()) out_ += " = ";
    add("{}(", name_text(op.type));
    bool is_first = true;
    for (const auto& [parameter, values] : op.inputs) {
      add("{}{} = ", is_first ? "" : ", ", name_text(parameter));
      is_first = false;
      arguments(values);
    }
    out_ += ')';
    attributes(&op.name, op.attributes);
    for (const Block* inner : op.blocks) {
      out_ += " block(";
      declarations(inner->inputs);
      out_ += ") ";
      block(*inner, indent);
    }
    out_ += ";\n";
  }

  void arguments(const Arguments& values) {
    if (values.size() == 1) return argument(values[0]);
    out_ += '(';
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out_ += ", ";
      argument(values[i]);
    }
    out_ += ')';
  }

  void argument(const Argument& argument) {
    if (const auto* value = std::get_if<Value*>(&argument))
      out_ += name_text((*value)->name);
    else
      literal(std::get<Literal>(argument));
  }

  void attributes(const std::string* name,
                  const std::map<std::string, Literal, std::less<>>& attributes) {
    out_ += '[';
    if (name != nullptr) add("name = {}({})", scalar_type(DType::kString), quoted(*name));
    bool is_first = name == nullptr;
    for (const auto& [key, value] : attributes) {
      add("{}{} = ", is_first ? "" : ", ", name_text(key));
      is_first = false;
      literal(value);
    }
    out_ += ']';
  }

  void literal(const Literal& literal) {
    const Type& type = literal.type();
    add("{}(", type_text(type));
    switch (type.kind) {
      case Type::Kind::kTensor:
        tensor(literal);
        break;
      case Type::Kind::kDictionary:
        out_ += '{';
        for (std::size_t i = 0; i < literal.entries().size(); ++i) {
          const auto& [key, value] = literal.entries()[i];
          out_ += i > 0 ? ", {" : "{";
          element(type.members[0], key);
          out_ += ", ";
          element(type.members[1], value);
          out_ += '}';
        }
        out_ += '}';
        break;
      default:
        out_ += '[';
        for (std::size_t i = 0; i < literal.items().size(); ++i) {
          if (i > 0) out_ += ", ";
          const bool is_tuple = type.kind == Type::Kind::kTuple;
          static const Type kAny = Type::list(Type(), 0);
          const Type& member = is_tuple || type.members.empty() ? kAny : type.members[0];
          element(member, literal.items()[i]);
        }
        out_ += ']';
    }
    out_ += ')';
  }

  // A scalar of the expected type needs no type of its own.
  void element(const Type& expected, const Literal& literal) {
    if (literal.type() == expected && expected.is_tensor() && expected.shape.empty())
      tensor(literal);
    else
      this->literal(literal);
  }

  void tensor(const Literal& literal) {
    const Type& type = literal.type();
    if (options_.blob && literal.data() != nullptr) {
      if (const auto reference = options_.blob(literal)) {
        add("BLOBFILE(path = {}({}), offset = {}({}))", scalar_type(DType::kString),
            quoted(reference->path), scalar_type(DType::kUInt64), reference->offset);
        return;
      }
    }
    const auto count = checked_element_count(type.shape);
    if (!count.ok() || (options_.max_elements >= 0 && *count > options_.max_elements)) {
      out_ += "...";
      return;
    }
    if (type.dtype == DType::kString) {
      nested(type.shape, [&](std::size_t i) {
        out_ += quoted(i < literal.strings().size() ? literal.strings()[i] : "");
      });
      return;
    }
    if (literal.data() == nullptr) {
      out_ += "...";
      return;
    }
    const auto loaded = literal.data()->load();
    if (!loaded.ok() ||
        loaded->bytes.size() < dtype_bytes(type.dtype, static_cast<std::uint64_t>(*count))) {
      out_ += "...";
      return;
    }
    const TensorView view{type.dtype, type.shape, loaded->bytes.data()};
    nested(type.shape, [&](std::size_t i) { number(view, i); });
  }

  void number(const TensorView& view, std::size_t i) {
    if (is_float(view.dtype)) {
      out_ += float_text(float_element(view.dtype, view.data, i));
      return;
    }
    const std::int64_t value = element_as_int(view, static_cast<std::int64_t>(i));
    if (view.dtype == DType::kBool)
      out_ += value != 0 ? "true" : "false";
    else if (view.dtype == DType::kUInt64)
      add("{}", static_cast<std::uint64_t>(value));
    else
      add("{}", value);
  }

  // Brackets around the elements of each axis; none around a scalar.
  template <typename Element>
  void nested(const Shape& shape, Element&& element) {
    const auto count = static_cast<std::size_t>(element_count(shape));
    if (shape.empty()) return element(0);
    if (count == 0) {
      out_ += "[]";
      return;
    }
    // Elements of one row of axis k and of everything below it.
    std::vector<std::size_t> strides(shape.size());
    std::size_t stride = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      stride *= static_cast<std::size_t>(shape[axis]);
      strides[axis] = stride;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out_ += ", ";
      for (const std::size_t s : strides)
        if (i % s == 0) out_ += '[';
      element(i);
      for (const std::size_t s : strides)
        if ((i + 1) % s == 0) out_ += ']';
    }
  }

  const PrintOptions& options_;
  const Syntax syntax_;
  std::string out_;
};

}  // namespace

Syntax syntax_of(const Program& program) {
  const bool is_new = std::ranges::any_of(program.functions(), [](const Function* function) {
    return function->opset >= Opset::kIOS18;
  });
  return is_new ? Syntax::kScalars : Syntax::kTensors;
}

std::string print(const Program& program, const PrintOptions& options) {
  return Printer(options, options.syntax.value_or(syntax_of(program))).program(program);
}

}  // namespace anemone::ir
