// SPDX-License-Identifier: Apache-2.0
#include "artifact/manifest.h"

#include "base/check.h"

namespace anemone::artifact {

std::string_view port_role_name(PortRole role) {
  switch (role) {
    case PortRole::kHidden:
      return "hidden";
    case PortRole::kRopeCos:
      return "rope_cos";
    case PortRole::kRopeSin:
      return "rope_sin";
    case PortRole::kAttentionMask:
      return "attention_mask";
    case PortRole::kCacheWriteMask:
      return "cache_write_mask";
  }
  ANEMONE_CHECK(false);
  return {};
}

const Rope* Manifest::rope(std::string_view rope_name) const {
  for (const Rope& rope : ropes)
    if (rope.name == rope_name) return &rope;
  return nullptr;
}

const Function* Manifest::function_for(std::int64_t tokens) const {
  const Function* best = nullptr;
  for (const Function& function : functions)
    if (function.tokens <= tokens && (best == nullptr || function.tokens > best->tokens))
      best = &function;
  return best;
}

}  // namespace anemone::artifact
