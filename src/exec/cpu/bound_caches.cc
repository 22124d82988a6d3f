// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/bound_caches.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "exec/cache_positions.h"

namespace anemone::exec {
namespace {

// Whether a binding is for this cache, in a shape that the plan can work on.
bool fits(const PreparedFunction& function, const PreparedCache& cache,
          const CacheBinding& binding) {
  const PreparedInput& input = function.inputs[cache.input];
  const Shape& shape = binding.cache->shape();
  if (binding.kind != cache.kind || binding.input != input.feature->name ||
      binding.output != function.outputs[cache.output].feature->name ||
      binding.cache->dtype() != cache.dtype)
    return false;
  if (cache.kind == CacheBinding::Kind::kReplace) return shape == cache.shape;
  const Shape& past = function.type(input.reg).shape;
  // A function that leaves the length of the past open is planned for the longest, but it touches
  // only what the step attends to, which check_binding() and the facts hold within the cache.
  const bool is_open = !is_static(input.feature->shape);
  return shape.size() == 4 && shape[0] == 1 && shape[1] == past[1] &&
         (is_open || shape[2] >= past[2]) && shape[3] == past[3];
}

const CacheBinding* binding_of(const PreparedFunction& function, const PreparedCache& cache,
                               const BatchItem& item) {
  for (const CacheBinding& binding : item.caches)
    if (fits(function, cache, binding)) return &binding;
  return nullptr;
}

// Rows are appended in the caller's memory only if all of them are, and if no mask asks for the
// layout of the program, in which the rows of the step come last.
bool appends_in_place(const PreparedFunction& function, const BatchItem& item) {
  if (item.facts == nullptr) return false;
  const bool are_bound = std::ranges::all_of(function.caches, [&](const PreparedCache& cache) {
    if (cache.kind != CacheBinding::Kind::kAppend) return true;
    const CacheBinding* binding = binding_of(function, cache, item);
    return binding != nullptr && binding->position == item.facts->position &&
           binding->count == item.facts->count;
  });
  return are_bound && std::ranges::all_of(function.inputs, [&](const PreparedInput& input) {
           return input.mask != MaskFact::Role::kAttentionPastAndStep ||
                  find_mask(item.facts, input.feature->name) != nullptr;
         });
}

}  // namespace

CacheBindings split_bindings(const PreparedFunction& function, const BatchItem& item) {
  CacheBindings out;
  const bool appends = !item.caches.empty() && appends_in_place(function, item);
  for (const CacheBinding& binding : item.caches) {
    const bool is_known = std::ranges::any_of(function.caches, [&](const PreparedCache& cache) {
      return fits(function, cache, binding);
    });
    const bool is_in_place = is_known && (binding.kind == CacheBinding::Kind::kReplace || appends);
    (is_in_place ? out.in_place : out.others).push_back(binding);
  }
  return out;
}

bool are_in_place(const PreparedFunction& function, const BatchItem& item) {
  return item.caches.empty() || split_bindings(function, item).others.empty();
}

Result<std::vector<FusedState>> bind_caches(const PreparedFunction& function, const BatchItem& item,
                                            Frame& frame, std::vector<BufferRef>& copies) {
  std::vector<FusedState> out;
  for (const PreparedCache& cache : function.caches) {
    if (const CacheBinding* binding = binding_of(function, cache, item)) {
      out.push_back({binding->cache->mutable_view().data, binding->cache->shape()[2]});
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
