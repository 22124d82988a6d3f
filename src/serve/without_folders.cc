// SPDX-License-Identifier: Apache-2.0
#include "serve/without_folders.h"

#include <algorithm>

namespace anemone::serve {

std::string without_folders(std::string_view message) {
  constexpr std::string_view kBetween = " \t\n\"'[](),;";
  std::string out;
  while (!message.empty()) {
    const std::size_t end = std::min(message.find_first_of(kBetween), message.size());
    std::string_view word = message.substr(0, end);
    if (const std::size_t slash = word.find_last_not_of('/'); slash != word.npos) {
      const std::size_t folder = word.rfind('/', slash);
      if (folder != word.npos) word.remove_prefix(folder + 1);
    }
    out += word;
    if (end < message.size()) out += message[end];
    message.remove_prefix(std::min(end + 1, message.size()));
  }
  return out;
}

}  // namespace anemone::serve
