// SPDX-License-Identifier: Apache-2.0
#include "cli/label_spans.h"

#include <string_view>

namespace anemone::cli {

std::vector<LabelSpan> label_spans(std::span<const std::string> labels) {
  std::vector<LabelSpan> out;
  bool is_open = false;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::string_view name = labels[i];
    if (name == "O" || name.empty()) {
      is_open = false;
      continue;
    }
    char place = 'I';
    if (name.size() > 2 && name[1] == '-' &&
        std::string_view("BIELSU").find(name[0]) != std::string_view::npos) {
      place = name[0];
      name.remove_prefix(2);
    }
    const bool begins = place == 'B' || place == 'S' || place == 'U';
    if (begins || !is_open || out.back().label != name)
      out.push_back({std::string(name), i, i + 1});
    else
      out.back().end = i + 1;
    is_open = place == 'B' || place == 'I';
  }
  return out;
}

}  // namespace anemone::cli
