// SPDX-License-Identifier: Apache-2.0
#include "exec/cache_binding.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "exec/cache_positions.h"

namespace anemone::exec {
namespace {

// What a function gets whose input has fewer positions than the cache: the last ones before
// `position`. If there are fewer than the input has, the rest stays zero; no token attends to it.
Tensor input_positions(const CacheBinding& binding, const Shape& shape) {
  Tensor out(binding.cache->dtype(), shape);
  const std::int64_t count = std::min(binding.position, shape[2]);
  copy_positions(binding.cache->view(), count, out.mutable_view(), 0, binding.position - count);
  return out;
}

Status append(const CacheBinding& binding, const Tensor& rows) {
  const Shape& shape = binding.cache->shape();
  const Shape& given = rows.shape();
  if (rows.dtype() != binding.cache->dtype() || given.size() != 4 || given[0] != 1 ||
      given[1] != shape[1] || given[2] < binding.count || given[3] != shape[3])
    return corrupt("[{}] expected {} rows for a cache {}, got {}", binding.output, binding.count,
                   to_string(shape), to_string(given));
  copy_positions(rows.view(), binding.count, binding.cache->mutable_view(), binding.position);
  return {};
}

// Puts an output of the function into the cache.
Status store(const CacheBinding& binding, Tensor& output) {
  if (binding.kind == CacheBinding::Kind::kAppend) return append(binding, output);
  if (output.dtype() != binding.cache->dtype() || output.shape() != binding.cache->shape())
    return corrupt("[{}] expected output \"{}\" {}, got {}", binding.input, binding.output,
                   to_string(binding.cache->shape()), to_string(output.shape()));
  // Swapped, not copied: the next run writes its output into the old storage of the cache.
  std::swap(output, *binding.cache);
  return {};
}

}  // namespace

Shape taken_shape(const Shape& declared, const CacheBinding& binding) {
  Shape out = declared;
  if (out.size() == 4 && out[2] == kDynamic) out[2] = binding.past;
  return out;
}

Status check_binding(const Signature& signature, const CacheBinding& binding) {
  return check_binding(signature.input(binding.input), signature.output(binding.output), binding);
}

Status check_binding(const Feature* input, const Feature* output, const CacheBinding& binding) {
  if (input == nullptr || output == nullptr || binding.cache == nullptr)
    return invalid_argument("[{}] expected a cache with an input and an output \"{}\", got none",
                            binding.input, binding.output);
  const Tensor& cache = *binding.cache;
  if (cache.empty() || cache.dtype() != input->dtype || cache.dtype() != output->dtype)
    return invalid_argument("[{}] expected a cache of {}, got {}", binding.input,
                            dtype_name(input->dtype), dtype_name(cache.dtype()));
  if (binding.kind == CacheBinding::Kind::kReplace) return check_shape(*input, cache.shape());
  const Shape& shape = cache.shape();
  // Every step of every layer comes here: a fixed shape is not copied.
  Shape open;
  if (!is_static(input->shape)) {
    open = taken_shape(input->shape, binding);
    ANEMONE_RETURN_IF_ERROR(check_shape(*input, open));
  }
  const Shape& taken = open.empty() ? input->shape : open;
  const bool fits = shape.size() == 4 && taken.size() == 4 && is_static(taken) && shape[0] == 1 &&
                    taken[0] == 1 && shape[1] == taken[1] && shape[2] >= taken[2] &&
                    shape[3] == taken[3];
  if (!fits)
    return invalid_argument("[{}] expected a cache with at least the positions of {}, got {}",
                            binding.input, to_string(taken), to_string(shape));
  // A window includes the token itself. If all other positions of it fit into the input, the step
  // may stand further back than the input is long.
  const bool has_whole_window = binding.window > 0 && binding.window <= taken[2] + 1;
  if (binding.position < 0 || (binding.position > taken[2] && !has_whole_window) ||
      binding.count < 0 || binding.count > shape[2] - binding.position)
    return invalid_argument(
        "[{}] expected rows that fit into {} positions, got {} rows from position {}",
        binding.input, shape[2], binding.count, binding.position);
  return {};
}

Status run_with_tensors(const BatchItem& item, std::span<const CacheBinding> bindings,
                        const Signature& signature,
                        const std::function<Status(const Inputs&, Outputs&)>& run) {
  Inputs inputs = *item.inputs;
  std::vector<Tensor> copies;
  for (const CacheBinding& binding : bindings) {
    const Feature& input = *signature.input(binding.input);
    TensorView view = binding.cache->view();
    if (binding.kind == CacheBinding::Kind::kAppend) {
      const Shape taken = taken_shape(input.shape, binding);
      if (view.shape != taken) view = copies.emplace_back(input_positions(binding, taken)).view();
    }
    inputs.push_back({input.name, view});
  }
  ANEMONE_RETURN_IF_ERROR(run(inputs, *item.outputs));
  for (const CacheBinding& binding : bindings) {
    const auto output = std::ranges::find(*item.outputs, binding.output, &NamedTensor::name);
    if (output == item.outputs->end())
      return internal_error("[{}] expected output \"{}\", got none", binding.input, binding.output);
    ANEMONE_RETURN_IF_ERROR(store(binding, output->tensor));
  }
  return {};
}

}  // namespace anemone::exec
