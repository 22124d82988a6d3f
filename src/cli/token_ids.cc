// SPDX-License-Identifier: Apache-2.0
#include "cli/token_ids.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/parse_number.h"

namespace anemone::cli {

Result<std::vector<std::int32_t>> parse_token_ids(const std::string& text, std::string_view flag) {
  const bool is_file = text.starts_with('@');
  std::string content = text;
  if (is_file) {
    ANEMONE_ASSIGN_OR_RETURN(content, read_file(text.substr(1)));
  }
  constexpr std::string_view kSeparators = " \t\r\n,";
  std::vector<std::int32_t> ids;
  std::size_t at = 0;
  while ((at = content.find_first_not_of(kSeparators, at)) != std::string::npos) {
    const std::size_t end = std::min(content.find_first_of(kSeparators, at), content.size());
    const auto id = parse_number<std::int32_t>(std::string_view(content).substr(at, end - at));
    if (!id) {
      const std::string word = content.substr(at, std::min<std::size_t>(end - at, 40));
      if (is_file)
        return parse_error("[{}] expected token ids, got \"{}\" (byte {})", text.substr(1), word,
                           at);
      return invalid_argument("[{}] expected token ids, got \"{}\"", flag, word);
    }
    ids.push_back(*id);
    at = end;
  }
  if (ids.empty()) return invalid_argument("[{}] expected at least one token id, got none", flag);
  return ids;
}

}  // namespace anemone::cli
