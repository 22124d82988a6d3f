// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/filters.h"

namespace anemone::text::jinja {

const FilterEntry* find_filter(std::string_view name) {
  for (const auto group :
       {text_filters(), sequence_filters(), selection_filters(), value_filters()})
    for (const FilterEntry& entry : group)
      if (entry.name == name) return &entry;
  return nullptr;
}

}  // namespace anemone::text::jinja
