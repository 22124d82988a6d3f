// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "base/check.h"
#include "kernels/reference/categories.h"

namespace anemone::kernels {

namespace {

// nullptr when there is none.
const KernelEntry* find_entry(std::string_view op) {
  static const auto table = [] {
    std::vector<KernelEntry> entries;
    for (auto add : {reference::add_elementwise, reference::add_reduction, reference::add_shape,
                     reference::add_linear, reference::add_norm, reference::add_constexpr,
                     reference::add_indexing, reference::add_pool, reference::add_image,
                     reference::add_recurrent, reference::add_random, reference::add_quantization})
      add(entries);
    std::map<std::string_view, KernelEntry> map;
    for (const KernelEntry& entry : entries) ANEMONE_CHECK(map.emplace(entry.op, entry).second);
    return map;
  }();
  const auto it = table.find(op);
  return it == table.end() ? nullptr : &it->second;
}

}  // namespace

Kernel find_reference_kernel(std::string_view op) {
  const KernelEntry* const entry = find_entry(op);
  return entry == nullptr ? nullptr : entry->kernel;
}

std::string_view updated_operand_of_kernel(std::string_view op) {
  const KernelEntry* const entry = find_entry(op);
  return entry == nullptr ? std::string_view() : entry->updates;
}

}  // namespace anemone::kernels
