// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/bound_caches.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/error.h"
#include "base/name_index.h"
#include "exec/cache_positions.h"

namespace anemone::exec {
namespace {

// Whether a binding of the cache's input is for this cache, in a shape that the plan can work on.
bool fits(const PreparedFunction& function, const PreparedCache& cache,
          const CacheBinding& binding) {
  const PreparedInput& input = function.inputs[cache.input];
  const Shape& shape = binding.cache->shape();
  if (binding.kind != cache.kind ||
      binding.output != function.outputs[cache.output].feature->name ||
      binding.cache->dtype() != cache.dtype)
    return false;
  if (cache.kind == CacheBinding::Kind::kReplace) return shape == cache.shape;
  const Shape& past = function.type(input.reg).shape;
  // If the length of the past is open, the function touches only the positions that the step
  // attends to; check_binding() and the facts keep these within the cache.
  const bool is_open = !is_static(input.feature->shape);
  return shape.size() == 4 && shape[0] == 1 && shape[1] == past[1] &&
         (is_open || shape[2] >= past[2]) && shape[3] == past[3];
}

// Rows are appended in the caller's memory only if all of them are, and if no mask asks for the
// layout of the program, in which the rows of the step come last.
bool appends_in_place(const PreparedFunction& function, const BatchItem& item,
                      const std::vector<const CacheBinding*>& bindings) {
  if (item.facts == nullptr) return false;
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    if (function.caches[i].kind != CacheBinding::Kind::kAppend) continue;
    const CacheBinding* const binding = bindings[i];
    if (binding == nullptr || binding->position != item.facts->position ||
        binding->count != item.facts->count)
      return false;
  }
  return std::ranges::all_of(function.inputs, [&](const PreparedInput& input) {
    return input.mask != MaskFact::Role::kAttentionPastAndStep ||
           find_mask(item.facts, input.feature->name) != nullptr;
  });
}

// Whether the function can work in place on each cache of the item.
std::vector<bool> which_are_in_place(const PreparedFunction& function, const BatchItem& item) {
  std::vector<bool> out(item.caches.size());
  const std::vector<const CacheBinding*> bindings = bindings_of(function, item);
  const bool appends = !item.caches.empty() && appends_in_place(function, item, bindings);
  for (const CacheBinding* binding : bindings)
    if (binding != nullptr && (binding->kind == CacheBinding::Kind::kReplace || appends))
      out[static_cast<std::size_t>(binding - item.caches.data())] = true;
  return out;
}

}  // namespace

std::vector<const CacheBinding*> bindings_of(const PreparedFunction& function,
                                             const BatchItem& item) {
  std::vector<const CacheBinding*> out;
  out.reserve(function.caches.size());
  NameCursor bindings(item.caches);
  for (const PreparedCache& cache : function.caches) {
    const CacheBinding* const found = bindings.find(function.inputs[cache.input].feature->name);
    out.push_back(found != nullptr && fits(function, cache, *found) ? found : nullptr);
  }
  return out;
}

CacheBindings split_bindings(const PreparedFunction& function, const BatchItem& item) {
  CacheBindings out;
  const std::vector<bool> is_in_place = which_are_in_place(function, item);
  for (std::size_t i = 0; i < item.caches.size(); ++i)
    (is_in_place[i] ? out.in_place : out.others).push_back(item.caches[i]);
  return out;
}

bool are_in_place(const PreparedFunction& function, const BatchItem& item) {
  return std::ranges::all_of(which_are_in_place(function, item), std::identity());
}

Result<std::vector<FusedState>> bind_caches(const PreparedFunction& function,
                                            const std::vector<const CacheBinding*>& bindings,
                                            Frame& frame, std::vector<BufferRef>& copies) {
  std::vector<FusedState> out;
  out.reserve(bindings.size());
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    const PreparedCache& cache = function.caches[i];
    if (const CacheBinding* binding = bindings[i]) {
      out.push_back({binding->cache->mutable_data(), binding->cache->shape()[2]});
      continue;
    }
    const TensorView from =
        frame.registers[static_cast<std::size_t>(function.inputs[cache.input].reg)].view;
    const TensorView whole{cache.dtype, cache.shape, nullptr};
    BufferRef copy = frame.pool.take(whole.size_bytes());
    if (copy == nullptr)
      return out_of_memory("[{}] not enough memory: a copy of the cache needs {} bytes",
                           function.inputs[cache.input].feature->name, whole.size_bytes());
    // The rows of a step that is appended have room after those before it.
    if (cache.kind == CacheBinding::Kind::kReplace)
      std::memcpy(copy->data(), from.data, static_cast<std::size_t>(from.size_bytes()));
    else
      copy_positions(from, from.shape[2], {cache.dtype, cache.shape, copy->data()});
    out.push_back({copy->data(), cache.shape[2]});
    if (cache.kind == CacheBinding::Kind::kReplace)
      frame.registers[static_cast<std::size_t>(function.outputs[cache.output].reg)].view = {
          cache.dtype, cache.shape, copy->data()};
    copies.push_back(std::move(copy));
  }
  return out;
}

}  // namespace anemone::exec
