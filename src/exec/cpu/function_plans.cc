// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/function_plans.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/name_index.h"
#include "exec/cpu/explain.h"
#include "exec/cpu/planner.h"

namespace anemone::exec {
namespace {

Shape least_shape(const Feature& feature) {
  if (!feature.allowed_shapes.empty())
    return *std::ranges::min_element(feature.allowed_shapes, {}, element_count);
  Shape out = feature.shape;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i] == kDynamic)
      out[i] = i < feature.size_ranges.size()
                   ? std::max<std::int64_t>(feature.size_ranges[i].lower, 1)
                   : 1;
  return out;
}

bool has_fact_about_past(const StepFacts* facts) {
  return facts != nullptr && std::ranges::any_of(facts->masks, [](const MaskFact& mask) {
           return mask.role == MaskFact::Role::kAttentionPastAndStep;
         });
}

// The shape that a plan is made for. If step facts describe the mask over the past, the function
// works on the cache in place, and one plan, made for the greatest length, serves all lengths.
Shape shape_of(const Feature& feature, const CacheBinding& binding, bool is_in_place) {
  if (is_static(feature.shape)) return feature.shape;
  if (binding.kind == CacheBinding::Kind::kReplace) return binding.cache->shape();
  const Shape greatest = greatest_shape(feature);
  return is_in_place && is_static(greatest) ? greatest : taken_shape(feature.shape, binding);
}

// `appended`: the inputs that are caches to which the function can append in place, as indices.
InputShapes shapes_of(const PreparedFunction& function, const std::vector<std::size_t>& appended,
                      const BatchItem& item) {
  InputShapes out;
  const bool has_facts = has_fact_about_past(item.facts);
  const NameIndex by_name(*item.inputs);
  NameCursor bindings(item.caches);
  for (const PreparedInput& input : function.inputs) {
    const NamedView* given = by_name.find(input.feature->name);
    if (given != nullptr)
      out.push_back(given->tensor.shape);
    else if (const MaskFact* mask = find_mask(item.facts, input.feature->name))
      out.push_back(mask_shape(*input.feature, *mask, *item.facts));
    else if (const CacheBinding* bound = bindings.find(input.feature->name))
      out.push_back(
          shape_of(*input.feature, *bound,
                   has_facts && std::ranges::find(appended, out.size()) != appended.end()));
    else
      out.push_back(input.default_value->shape());
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<Frame>> ExecutionPlan::take_frame() const {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_frames_.empty()) {
      auto frame = std::move(idle_frames_.back());
      idle_frames_.pop_back();
      return frame;
    }
  }
  auto frame = std::make_unique<Frame>(limit_);
  frame->registers = function_.initial;
  const auto bytes = static_cast<std::uint64_t>(function_.memory.arena_bytes);
  frame->arena = Buffer::make(bytes, limit_);
  if (frame->arena == nullptr)
    return out_of_memory("not enough memory: the values of function {1} need {0} bytes", bytes,
                         function_.function->name);
  frame->places.resize(frame->registers.size());
  for (std::size_t i = 0; i < frame->registers.size(); ++i) {
    const auto reg = static_cast<int>(i);
    if (!function_.memory.has_place(reg)) continue;
    const ir::Type& type = function_.type(reg);
    frame->places[i] = frame->arena->data() + function_.memory.offsets[i];
    frame->registers[i].view = {type.dtype, type.shape, frame->places[i]};
  }
  return frame;
}

void ExecutionPlan::give_frame(std::unique_ptr<Frame> frame) const {
  if (limit_->is_scarce()) return;
  const std::lock_guard lock(mutex_);
  idle_frames_.push_back(std::move(frame));
}

std::shared_ptr<const std::vector<PlanStep>> ExecutionPlan::steps() const {
  const std::lock_guard lock(mutex_);
  if (steps_ == nullptr) {
    std::vector<PlanStep> steps = explain(*this);
    for (PlanStep& step : steps) {
      step.runs = 0;
      step.seconds = 0;
    }
    steps_ = std::make_shared<const std::vector<PlanStep>>(std::move(steps));
  }
  return steps_;
}

bool has_open_shapes(const PreparedFunction& function) {
  return std::ranges::any_of(function.inputs, [](const PreparedInput& input) {
    return !is_static(input.type->shape) || !is_static(input.feature->shape);
  });
}

InputShapes least_shapes(const PreparedFunction& function) {
  InputShapes out;
  for (const PreparedInput& input : function.inputs) out.push_back(least_shape(*input.feature));
  return out;
}

PreparedFunction with_shapes(const PreparedFunction& function, const InputShapes& shapes) {
  PreparedFunction out = function;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const PreparedInput& input = out.inputs[i];
    // The description says [1] for what is a scalar in the program.
    if (!input.type->shape.empty())
      out.types[static_cast<std::size_t>(input.reg)].shape = shapes[i];
  }
  return out;
}

FunctionPlans::FunctionPlans(PreparedFunction planned, SharedResources& shared)
    : signature_(planned.signature), shared_(shared) {
  entries_.push_back(
      {{}, std::make_shared<const ExecutionPlan>(std::move(planned), shared.memory)});
}

FunctionPlans::FunctionPlans(PreparedFunction open, PreparedFunction first, ConstantFolder& folder,
                             SharedResources& shared)
    : signature_(open.signature), open_(std::move(open)), folder_(&folder), shared_(shared) {
  for (const PreparedCache& cache : first.caches)
    if (cache.kind == CacheBinding::Kind::kAppend) appended_.push_back(cache.input);
  entries_.push_back({least_shapes(*open_),
                      std::make_shared<const ExecutionPlan>(std::move(first), shared.memory)});
}

Result<std::shared_ptr<const ExecutionPlan>> FunctionPlans::find(const BatchItem& item) {
  if (!open_) return entries_.front().plan;
  InputShapes shapes = shapes_of(*open_, appended_, item);
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(entries_, shapes, &Entry::shapes);
  if (known != entries_.end()) {
    std::rotate(entries_.begin(), known, known + 1);
    return entries_.front().plan;
  }
  PreparedFunction planned = with_shapes(*open_, shapes);
  {
    ThreadsTurn turn(shared_);
    ANEMONE_RETURN_IF_ERROR(
        exec::plan({&planned}, true, *folder_, turn.pool(), shared_.offload.get()));
  }
  if (entries_.size() == kMaxPlans) entries_.pop_back();
  entries_.insert(entries_.begin(), {std::move(shapes), std::make_shared<const ExecutionPlan>(
                                                            std::move(planned), shared_.memory)});
  return entries_.front().plan;
}

std::shared_ptr<const ExecutionPlan> FunctionPlans::last() const {
  const std::lock_guard lock(mutex_);
  return entries_.front().plan;
}

void FunctionPlans::reset_times() const {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) entry.plan->times().reset();
}

}  // namespace anemone::exec
