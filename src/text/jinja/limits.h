// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace anemone::text::jinja {

// What one render may use. A template is data from the network, and so are its variables: neither
// must be able to take the machine.
struct Limits {
  // Units of about a nanosecond, as in WorkBudget: half a second, so that the error comes within
  // one second on a slow core, too.
  std::int64_t work = 500'000'000;
  std::size_t memory = std::size_t{512} << 20;  // bytes that the values hold at a time
  std::size_t output_bytes = 16U << 20;         // of the result, and of any one text
  std::size_t items = 1'000'000;                // of any one list
  int depth = 900;                              // nested evaluations; guards the stack
};

// What pieces of work cost in these units. Measured on the slowest form of each, rounded up.
namespace cost {
inline constexpr std::size_t kNode = 40;       // an evaluated expression or statement
inline constexpr std::size_t kItem = 15;       // a value copied and later dropped
inline constexpr std::size_t kObject = 100;    // a text or container made and later dropped
inline constexpr std::size_t kCharacter = 12;  // a byte that is decoded and checked
inline constexpr std::size_t kCase = 30;       // a byte whose case is changed
inline constexpr std::size_t kTitle = 80;      // the same where each character is a text of its own
// Bytes that are copied, hashed or compared.
constexpr std::size_t bytes(std::size_t count) {
  return count / 2;
}
constexpr std::size_t compared(std::size_t count) {
  return count / 8;
}
}  // namespace cost

}  // namespace anemone::text::jinja
