// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/value_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/jinja/heap.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace anemone::text::jinja {
namespace {

Status too_long(std::size_t max_bytes) {
  return invalid_argument("[chat template] expected a text of at most {} bytes", max_bytes);
}

// False for the characters that Python's repr escapes, as far as it matters: controls, format
// characters, spaces but ' ', private use, non-characters.
bool is_printable(char32_t c) {
  if (c < 0x20 || (c >= 0x7F && c < 0xA1) || c == 0xAD) return false;
  if (c != ' ' && is_white_space(c)) return false;
  if ((c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F))
    return false;
  return c != 0xFEFF && !(c >= 0xE000 && c <= 0xF8FF) && c < 0xE0000;
}

void append_repr_text(std::string_view text, std::string& out) {
  const bool double_quotes = text.find('\'') != text.npos && text.find('"') == text.npos;
  const char quote = double_quotes ? '"' : '\'';
  out += quote;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_code_point(text, i);
    const std::string_view bytes = text.substr(i, static_cast<std::size_t>(point.length));
    i += bytes.size();
    const auto code = static_cast<std::uint32_t>(point.value);
    if (bytes[0] == quote || bytes[0] == '\\') {
      out += '\\';
      out += bytes;
    } else if (bytes[0] == '\n') {
      out += "\\n";
    } else if (bytes[0] == '\r') {
      out += "\\r";
    } else if (bytes[0] == '\t') {
      out += "\\t";
    } else if (is_printable(point.value)) {
      out += bytes;
    } else if (code < 0x100) {
      out += fmt::format("\\x{:02x}", code);
    } else if (code < 0x10000) {
      out += fmt::format("\\u{:04x}", code);
    } else {
      out += fmt::format("\\U{:08x}", code);
    }
  }
  out += quote;
}

// A text that is written piece by piece: what each piece costs is charged.
class Writer {
 public:
  explicit Writer(Heap& heap) : heap_(heap) {}

  Result<std::string> finish() {
    ANEMONE_RETURN_IF_ERROR(check());
    return std::move(out);
  }

 protected:
  Status begin_value(int depth) {
    if (depth > kMaxValueDepth) return too_deep();
    ANEMONE_RETURN_IF_ERROR(heap_.charge(kValueCost));
    return check();
  }
  // Charges a text or a separator of that length before it is written.
  Status charge(std::size_t bytes) { return heap_.charge(bytes * cost::kCharacter); }
  Status check() const {
    if (out.size() <= heap_.limits().output_bytes) return ok_status();
    return too_long(heap_.limits().output_bytes);
  }

  std::string out;

 private:
  static constexpr std::size_t kValueCost = 80;
  Heap& heap_;
};

class ReprWriter : public Writer {
 public:
  using Writer::Writer;

  Status write(const Value& value, int depth) {
    ANEMONE_RETURN_IF_ERROR(begin_value(depth));
    if (value.is_undefined()) {
      out += "Undefined";
    } else if (value.is_none()) {
      out += "None";
    } else if (value.is_bool()) {
      out += value.truthy() ? "True" : "False";
    } else if (value.is_integer()) {
      out += integer_text(value.as_integer());
    } else if (value.is_float()) {
      out += float_text(value.as_number());
    } else if (const std::string* text = value.as_text()) {
      ANEMONE_RETURN_IF_ERROR(charge(text->size()));
      append_repr_text(*text, out);
    } else if (const Sequence* sequence = value.as_sequence()) {
      return write_sequence(*sequence, depth);
    } else if (const Dict* dict = value.as_dict()) {
      return write_dict(*dict, depth);
    } else if (const Namespace* names = value.as_namespace()) {
      out += "<Namespace ";
      ANEMONE_RETURN_IF_ERROR(write_dict(names->attributes, depth));
      out += '>';
    } else {
      out += fmt::format("<{}>", value.type_name());
    }
    return ok_status();
  }

 private:
  Status write_sequence(const Sequence& sequence, int depth) {
    if (sequence.kind == SequenceKind::kGenerator) {
      out += "<generator object>";
      return ok_status();
    }
    const bool tuple = sequence.kind == SequenceKind::kTuple;
    out += tuple ? '(' : '[';
    for (std::size_t i = 0; i < sequence.items.size(); ++i) {
      if (i > 0) out += ", ";
      ANEMONE_RETURN_IF_ERROR(write(sequence.items[i], depth + 1));
    }
    if (tuple && sequence.items.size() == 1) out += ',';
    out += tuple ? ')' : ']';
    return ok_status();
  }
  Status write_dict(const Dict& dict, int depth) {
    out += '{';
    bool first = true;
    for (const auto& [key, item] : dict.entries()) {
      if (!first) out += ", ";
      first = false;
      ANEMONE_RETURN_IF_ERROR(write(key, depth + 1));
      out += ": ";
      ANEMONE_RETURN_IF_ERROR(write(item, depth + 1));
    }
    out += '}';
    return ok_status();
  }
};

class JsonWriter : public Writer {
 public:
  JsonWriter(Heap& heap, const JsonStyle& style) : Writer(heap), style_(style) {}

  Status write(const Value& value, int depth) {
    ANEMONE_RETURN_IF_ERROR(begin_value(depth));
    if (value.is_none()) {
      out += "null";
    } else if (value.is_bool()) {
      out += value.truthy() ? "true" : "false";
    } else if (value.is_integer()) {
      out += integer_text(value.as_integer());
    } else if (value.is_float()) {
      out += json_float(value.as_number());
    } else if (const std::string* text = value.as_text()) {
      return write_text(*text);
    } else if (const Sequence* sequence = value.as_sequence();
               sequence != nullptr && sequence->kind != SequenceKind::kGenerator) {
      return write_sequence(*sequence, depth);
    } else if (const Dict* dict = value.as_dict()) {
      return write_dict(*dict, depth);
    } else {
      return invalid_argument("[chat template] Object of type {} is not JSON serializable",
                              value.type_name());
    }
    return ok_status();
  }

 private:
  static std::string json_float(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return float_text(value);
  }

  Status write_text(std::string_view text) {
    ANEMONE_RETURN_IF_ERROR(charge(text.size()));
    out += '"';
    for (std::size_t i = 0; i < text.size();) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte >= 0x80) {
        const CodePoint point = decode_code_point(text, i);
        const auto length = static_cast<std::size_t>(point.length);
        if (style_.ensure_ascii)
          write_escaped(point.value);
        else
          out += text.substr(i, length);
        i += length;
        continue;
      }
      ++i;
      switch (byte) {
        case '"':
          out += "\\\"";
          break;
        case '\\':
          out += "\\\\";
          break;
        case '\n':
          out += "\\n";
          break;
        case '\r':
          out += "\\r";
          break;
        case '\t':
          out += "\\t";
          break;
        case '\b':
          out += "\\b";
          break;
        case '\f':
          out += "\\f";
          break;
        default:
          if (byte < 0x20)
            out += fmt::format("\\u{:04x}", byte);
          else
            out += static_cast<char>(byte);
      }
    }
    out += '"';
    return ok_status();
  }

  void write_escaped(char32_t value) {
    const auto code = static_cast<std::uint32_t>(value);
    if (code < 0x10000) {
      out += fmt::format("\\u{:04x}", code);
    } else {
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((code - 0x10000) >> 10),
                         0xDC00 + ((code - 0x10000) & 0x3FF));
    }
  }

  Status new_line(int depth) {
    if (!style_.indent) return ok_status();
    out += '\n';
    for (int i = 0; i < depth; ++i) {
      ANEMONE_RETURN_IF_ERROR(charge(1 + style_.indent->size()));
      ANEMONE_RETURN_IF_ERROR(check());
      out += *style_.indent;
    }
    return ok_status();
  }

  Status separate(const std::string& separator) {
    ANEMONE_RETURN_IF_ERROR(charge(separator.size()));
    out += separator;
    return check();
  }

  Status write_sequence(const Sequence& sequence, int depth) {
    out += '[';
    for (std::size_t i = 0; i < sequence.items.size(); ++i) {
      if (i > 0) ANEMONE_RETURN_IF_ERROR(separate(style_.item_separator));
      ANEMONE_RETURN_IF_ERROR(new_line(depth + 1));
      ANEMONE_RETURN_IF_ERROR(write(sequence.items[i], depth + 1));
    }
    if (!sequence.items.empty()) ANEMONE_RETURN_IF_ERROR(new_line(depth));
    out += ']';
    return ok_status();
  }

  Status write_dict(const Dict& dict, int depth) {
    std::vector<const std::pair<Value, Value>*> entries;
    for (const auto& entry : dict.entries()) entries.push_back(&entry);
    if (style_.sort_keys) {
      for (const auto* entry : entries) {
        ANEMONE_RETURN_IF_ERROR(charge(kSortCost));
        if (entry->first.is_text()) ANEMONE_RETURN_IF_ERROR(charge(entry->first.as_text()->size()));
        if (!entry->first.is_text())
          return invalid_argument("[chat template] expected text keys to sort, got {}",
                                  entry->first.type_name());
      }
      std::stable_sort(entries.begin(), entries.end(), [](const auto* a, const auto* b) {
        return *a->first.as_text() < *b->first.as_text();
      });
    }
    out += '{';
    bool first = true;
    for (const auto* entry : entries) {
      if (!first) ANEMONE_RETURN_IF_ERROR(separate(style_.item_separator));
      first = false;
      ANEMONE_RETURN_IF_ERROR(new_line(depth + 1));
      ANEMONE_RETURN_IF_ERROR(write_key(entry->first));
      ANEMONE_RETURN_IF_ERROR(separate(style_.key_separator));
      ANEMONE_RETURN_IF_ERROR(write(entry->second, depth + 1));
    }
    if (!entries.empty()) ANEMONE_RETURN_IF_ERROR(new_line(depth));
    out += '}';
    return ok_status();
  }

  Status write_key(const Value& key) {
    if (const std::string* text = key.as_text()) {
      return write_text(*text);
    } else if (key.is_none()) {
      out += "\"null\"";
    } else if (key.is_bool()) {
      out += key.truthy() ? "\"true\"" : "\"false\"";
    } else if (key.is_integer()) {
      out += '"' + integer_text(key.as_integer()) + '"';
    } else if (key.is_float()) {
      out += '"' + json_float(key.as_number()) + '"';
    } else {
      return invalid_argument("[chat template] keys must be text or numbers, got {}",
                              key.type_name());
    }
    return ok_status();
  }

  static constexpr std::size_t kSortCost = 100;
  const JsonStyle& style_;
};

}  // namespace

bool has_many_digits(const Value& value) {
  return value.is_float() && std::abs(value.as_number()) >= 1e20;
}

std::string integer_text(Int value) {
  return fmt::format("{}", value);
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 40> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific)
                       .ptr;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const auto mark = text.find('e');
  int exponent = 0;
  const char* digits = text.data() + mark + (text[mark + 1] == '+' ? 2 : 1);
  std::from_chars(digits, end, exponent);
  if (exponent >= -4 && exponent < 16) {
    const auto fixed =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed)
            .ptr;
    std::string out(buffer.data(), fixed);
    if (out.find('.') == out.npos) out += ".0";
    return out;
  }
  return std::string(text);
}

Result<std::string> repr(Heap& heap, const Value& value) {
  ReprWriter writer(heap);
  ANEMONE_RETURN_IF_ERROR(writer.write(value, 0));
  return writer.finish();
}

Result<std::string> str(Heap& heap, const Value& value) {
  if (value.is_undefined()) return std::string();
  const std::string* text = value.as_text();
  if (text == nullptr) return repr(heap, value);
  ANEMONE_RETURN_IF_ERROR(heap.charge(cost::bytes(text->size())));
  return *text;
}

Result<std::string> to_json(Heap& heap, const Value& value, const JsonStyle& style) {
  JsonWriter writer(heap, style);
  ANEMONE_RETURN_IF_ERROR(writer.write(value, 0));
  return writer.finish();
}

}  // namespace anemone::text::jinja
