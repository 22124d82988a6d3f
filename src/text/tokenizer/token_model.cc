// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/token_model.h"

#include <fmt/format.h>

namespace anemone::text {

std::vector<std::int32_t> find_byte_tokens(const Vocab& vocab) {
  std::vector<std::int32_t> ids;
  for (int byte = 0; byte < 256; ++byte) ids.push_back(vocab.find(fmt::format("<0x{:02X}>", byte)));
  return ids;
}

}  // namespace anemone::text
