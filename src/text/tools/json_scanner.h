// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace anemone::text {

// Follows one JSON value (RFC 8259) byte by byte as far as it is needed to know where the value
// ends. It takes control characters inside strings, which models write and JSON does not allow.
// Single-thread.
class JsonScanner {
 public:
  enum class Step : std::uint8_t {
    kMore,    // the byte belongs to the value, which goes on
    kEnd,     // the byte ends the value
    kBefore,  // the value, a number, ended before the byte
    kBad,     // no value goes on like this, or it nests beyond kMaxDepth
  };
  static constexpr std::size_t kMaxDepth = 100;

  Step push(char byte);
  // push(), which also adds the byte to `out` if it belongs to the value. Control characters inside
  // of strings are escaped, as JSON requires.
  Step push(char byte, std::string& out);

 private:
  enum class State : std::uint8_t {
    kValue,
    kItemOrEnd,
    kKeyOrEnd,
    kKey,
    kColon,
    kCommaOrEnd,
    kString,
    kEscape,
    kHex,
    kNumber,
    kWord,
    kDone,
  };
  Step begin_value(char byte);
  Step end_value();
  Step close(char bracket);
  Step in_number(char byte);

  State state_ = State::kValue;
  std::string open_;  // the brackets around the place
  bool is_key_ = false;
  int hex_left_ = 0;
  char digit_state_ = 0;        // what the number has so far
  const char* word_ = nullptr;  // what is left of true, false or null
};

}  // namespace anemone::text
