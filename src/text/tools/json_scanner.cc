// SPDX-License-Identifier: Apache-2.0
#include "text/tools/json_scanner.h"

#include <string_view>

#include "base/ascii.h"
#include "text/tools/blanks.h"

namespace anemone::text {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

void append_string_byte(char byte, std::string& out) {
  const auto value = static_cast<unsigned char>(byte);
  if (value >= 0x20) {
    out += byte;
  } else if (byte == '\n') {
    out += "\\n";
  } else if (byte == '\t') {
    out += "\\t";
  } else if (byte == '\r') {
    out += "\\r";
  } else {
    out += "\\u00";
    out += kHexDigits[value >> 4];
    out += kHexDigits[value & 15];
  }
}

}  // namespace

JsonScanner::Step JsonScanner::end_value() {
  state_ = open_.empty() ? State::kDone : State::kCommaOrEnd;
  return open_.empty() ? Step::kEnd : Step::kMore;
}

JsonScanner::Step JsonScanner::close(char bracket) {
  if (open_.empty() || open_.back() != bracket) return Step::kBad;
  open_.pop_back();
  return end_value();
}

JsonScanner::Step JsonScanner::begin_value(char byte) {
  switch (byte) {
    case '{':
    case '[':
      if (open_.size() >= kMaxDepth) return Step::kBad;
      open_ += byte;
      state_ = byte == '{' ? State::kKeyOrEnd : State::kItemOrEnd;
      return Step::kMore;
    case '"':
      is_key_ = false;
      state_ = State::kString;
      return Step::kMore;
    case 't':
      word_ = "rue";
      break;
    case 'f':
      word_ = "alse";
      break;
    case 'n':
      word_ = "ull";
      break;
    default:
      if (!is_digit(byte) && byte != '-') return Step::kBad;
      digit_state_ = byte == '-' || byte == '0' ? byte : '1';
      state_ = State::kNumber;
      return Step::kMore;
  }
  state_ = State::kWord;
  return Step::kMore;
}

// digit_state_: '-' sign, '0' a leading zero, '1' integer digits, '.' point, 'f' fraction digits,
// 'e' exponent mark, 's' its sign, 'x' its digits.
JsonScanner::Step JsonScanner::in_number(char byte) {
  const bool digit = is_digit(byte);
  const bool is_exponent = byte == 'e' || byte == 'E';
  switch (digit_state_) {
    case '-':
      if (!digit) return Step::kBad;
      digit_state_ = byte == '0' ? '0' : '1';
      return Step::kMore;
    case '.':
      if (!digit) return Step::kBad;
      digit_state_ = 'f';
      return Step::kMore;
    case 'e':
      if (byte == '+' || byte == '-') {
        digit_state_ = 's';
        return Step::kMore;
      }
      [[fallthrough]];
    case 's':
      if (!digit) return Step::kBad;
      digit_state_ = 'x';
      return Step::kMore;
    default:
      break;
  }
  if (digit && digit_state_ != '0') return Step::kMore;
  if (byte == '.' && (digit_state_ == '0' || digit_state_ == '1')) {
    digit_state_ = '.';
    return Step::kMore;
  }
  if (is_exponent && digit_state_ != 'x') {
    digit_state_ = 'e';
    return Step::kMore;
  }
  if (end_value() == Step::kEnd) return Step::kBefore;
  return push(byte);  // which is after the number; not a number again
}

JsonScanner::Step JsonScanner::push(char byte) {
  switch (state_) {
    case State::kString:
      if (byte == '\\') state_ = State::kEscape;
      if (byte != '"') return Step::kMore;
      if (!is_key_) return end_value();
      state_ = State::kColon;
      return Step::kMore;
    case State::kEscape:
      if (std::string_view("\"\\/bfnrtu").find(byte) == std::string_view::npos) return Step::kBad;
      state_ = byte == 'u' ? State::kHex : State::kString;
      hex_left_ = 4;
      return Step::kMore;
    case State::kHex:
      if (hex_value(byte) < 0) return Step::kBad;
      if (--hex_left_ == 0) state_ = State::kString;
      return Step::kMore;
    case State::kNumber:
      return in_number(byte);
    case State::kWord:
      if (byte != *word_) return Step::kBad;
      ++word_;
      return *word_ == '\0' ? end_value() : Step::kMore;
    case State::kDone:
      return Step::kBad;
    default:
      break;
  }
  if (is_blank(byte)) return Step::kMore;
  switch (state_) {
    case State::kItemOrEnd:
      if (byte == ']') return close('[');
      return begin_value(byte);
    case State::kKeyOrEnd:
      if (byte == '}') return close('{');
      [[fallthrough]];
    case State::kKey:
      if (byte != '"') return Step::kBad;
      is_key_ = true;
      state_ = State::kString;
      return Step::kMore;
    case State::kColon:
      if (byte != ':') return Step::kBad;
      state_ = State::kValue;
      return Step::kMore;
    case State::kCommaOrEnd:
      if (byte == ',') {
        state_ = open_.back() == '{' ? State::kKey : State::kValue;
        return Step::kMore;
      }
      return byte == '}' ? close('{') : byte == ']' ? close('[') : Step::kBad;
    default:
      return begin_value(byte);
  }
}

JsonScanner::Step JsonScanner::push(char byte, std::string& out) {
  const bool is_in_string = state_ == State::kString || state_ == State::kEscape;
  const Step step = push(byte);
  if (step == Step::kBad || step == Step::kBefore) return step;
  if (is_in_string)
    append_string_byte(byte, out);
  else
    out += byte;
  return step;
}

}  // namespace anemone::text
