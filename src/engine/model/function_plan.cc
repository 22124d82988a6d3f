// SPDX-License-Identifier: Apache-2.0
#include "engine/model/function_plan.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace anemone::engine {
namespace {

using artifact::PortRole;
using exec::Feature;

// One function of one package, compared with what the manifest says about it.
class PackageChecker {
 public:
  PackageChecker(std::string_view package, const artifact::Function& function,
                 const exec::LoadedProgram& program)
      : package_(package), function_(function), signature_(program.signature(function.name)) {}

  Status check_function() const {
    if (signature_ != nullptr) return {};
    return corrupt("[{}] expected a function \"{}\", got none of that name", package_,
                   function_.name);
  }

  // A float input, output or state of this shape.
  Result<DType> check(std::string_view kind, const Feature* feature, std::string_view name,
                      const Shape& shape) const {
    ANEMONE_RETURN_IF_ERROR(check_shape_of(kind, feature, name, shape));
    if (feature->dtype != DType::kFp16 && feature->dtype != DType::kFp32)
      return corrupt("[{}] expected {} \"{}\" in fp16 or fp32, got {} (function {})", package_,
                     kind, name, dtype_name(feature->dtype), function_.name);
    return feature->dtype;
  }

  Status check_shape_of(std::string_view kind, const Feature* feature, std::string_view name,
                        const Shape& shape) const {
    if (feature == nullptr)
      return corrupt("[{}] expected {} \"{}\" {}, got none of that name (function {})", package_,
                     kind, name, to_string(shape), function_.name);
    // The shape of an output may be known at run time only.
    Shape known = shape;
    if (kind == "output" && feature->shape.size() == shape.size())
      for (std::size_t i = 0; i < shape.size(); ++i)
        if (feature->shape[i] == kDynamic) known[i] = kDynamic;
    const bool fits = kind == "output" ? feature->shape.empty() || feature->shape == known
                                       : check_shape(*feature, shape).ok();
    if (!fits)
      return corrupt("[{}] expected {} \"{}\" {}, got {} (function {})", package_, kind, name,
                     to_string(shape), to_string(feature->shape), function_.name);
    return {};
  }
  Result<DType> input(std::string_view name, const Shape& shape) const {
    return check("input", signature_->input(name), name, shape);
  }
  Result<DType> output(std::string_view name, const Shape& shape) const {
    return check("output", signature_->output(name), name, shape);
  }

  Result<DType> integer_input(std::string_view name, const Shape& shape) const {
    const Feature* feature = signature_->input(name);
    ANEMONE_RETURN_IF_ERROR(check_shape_of("input", feature, name, shape));
    ANEMONE_RETURN_IF_ERROR(
        check_same(fmt::format("input \"{}\"", name), DType::kInt32, feature->dtype));
    return DType::kInt32;
  }

  Status integer_output(std::string_view name, const Shape& shape) const {
    const Feature* feature = signature_->output(name);
    ANEMONE_RETURN_IF_ERROR(check_shape_of("output", feature, name, shape));
    return check_same(fmt::format("output \"{}\"", name), DType::kInt32, feature->dtype);
  }

  Status check_same(std::string_view what, DType expected, DType got) const {
    if (expected == got) return {};
    return corrupt("[{}] expected {} in {}, got {} (function {})", package_, what,
                   dtype_name(expected), dtype_name(got), function_.name);
  }

  // Checks the cache of a function that reads `tokens` per step and takes `past` positions of a
  // cache that is appended.
  Status check_cache(const artifact::Cache& cache, std::int64_t tokens, std::int64_t past) const {
    const std::string what = fmt::format("cache \"{}\"", cache.name);
    if (cache.output.empty()) {
      ANEMONE_ASSIGN_OR_RETURN(const DType dtype, check("state", signature_->state(cache.name),
                                                        cache.name, cache.shape));
      return check_same(what, cache.dtype, dtype);
    }
    Shape before = cache.shape;
    Shape after = cache.shape;
    if (cache.is_appended) {
      before[2] = past;
      after[2] = tokens;
    }
    ANEMONE_ASSIGN_OR_RETURN(const DType in, input(cache.name, before));
    ANEMONE_RETURN_IF_ERROR(check_same(what, cache.dtype, in));
    ANEMONE_ASSIGN_OR_RETURN(const DType out, output(cache.output, after));
    return check_same(what, cache.dtype, out);
  }

  // Two outputs besides the hidden state.
  Status check_experts(const artifact::Experts& experts, const Shape& input, const Shape& weights,
                       DType flowing) const {
    ANEMONE_ASSIGN_OR_RETURN(const DType x, output(experts.input, input));
    ANEMONE_RETURN_IF_ERROR(check_same(fmt::format("output \"{}\"", experts.input), flowing, x));
    ANEMONE_ASSIGN_OR_RETURN(const DType w, output(experts.weights, weights));
    return check_same(fmt::format("output \"{}\"", experts.weights), flowing, w);
  }

  // Inputs and states that the manifest does not know would stay without a value.
  Status check_nothing_else(const artifact::Shard& shard) const {
    const auto is_cache = [&](std::string_view name, bool is_state) {
      return std::ranges::any_of(shard.caches, [&](const artifact::Cache& cache) {
        return cache.name == name && cache.output.empty() == is_state;
      });
    };
    for (const Feature& input : signature_->inputs) {
      const bool is_port = std::ranges::any_of(
          shard.inputs, [&](const artifact::Port& port) { return port.name == input.name; });
      if (!is_port && !is_cache(input.name, false) && !input.is_optional)
        return unknown("input", input.name);
    }
    for (const Feature& state : signature_->states)
      if (!is_cache(state.name, true)) return unknown("state", state.name);
    return {};
  }

 private:
  Status unknown(std::string_view kind, std::string_view name) const {
    return corrupt("[{}] expected each {} to be in the manifest, got \"{}\" (function {})",
                   package_, kind, name, function_.name);
  }

  std::string_view package_;
  const artifact::Function& function_;
  const exec::Signature* signature_;
};

int index_of(std::vector<HostInput>& inputs, const HostInput& input) {
  const auto found = std::ranges::find(inputs, input);
  const auto index = static_cast<int>(found - inputs.begin());
  if (found == inputs.end()) inputs.push_back(input);
  return index;
}

// The outputs of the heads of a package.
Status check_logits(const artifact::Manifest& manifest, std::span<const artifact::Head> heads,
                    const PackageChecker& checker, std::int64_t tokens) {
  for (const artifact::Head& each : heads) {
    ANEMONE_RETURN_IF_ERROR(
        checker.output(each.output, manifest.form.logits_shape(each.columns(), tokens)).status());
    if (!each.argmax.empty())
      ANEMONE_RETURN_IF_ERROR(
          checker.integer_output(each.argmax, manifest.form.logits_shape(1, tokens)));
  }
  return {};
}

Status check_heads(const artifact::Manifest& manifest, std::span<const artifact::Head> heads,
                   const PackageChecker& checker, std::int64_t tokens, DType flowing) {
  const artifact::Head& head = heads.front();
  ANEMONE_RETURN_IF_ERROR(checker.check_function());
  ANEMONE_ASSIGN_OR_RETURN(
      const DType dtype,
      checker.input(head.input,
                    artifact::hidden_shape(manifest.form.layout, manifest.hidden_size, tokens)));
  ANEMONE_RETURN_IF_ERROR(
      checker.check_same(fmt::format("input \"{}\"", head.input), flowing, dtype));
  artifact::Shard as_shard;
  as_shard.inputs.emplace_back().name = head.input;
  ANEMONE_RETURN_IF_ERROR(checker.check_nothing_else(as_shard));
  return check_logits(manifest, heads, checker, tokens);
}

void set_columns(const artifact::Manifest& manifest, const artifact::Shard& shard,
                 HostInput& input) {
  input.layout = manifest.form.layout;
  if (input.role == PortRole::kEmbedding) input.columns = manifest.hidden_size;
  if (input.role != PortRole::kLayerEmbedding) return;
  input.first_column = shard.layers.begin * manifest.layer_columns();
  input.columns = (shard.layers.end - shard.layers.begin) * manifest.layer_columns();
}

DType stored_type(const artifact::Manifest& manifest) {
  return manifest.precision == "fp16" ? DType::kFp16 : DType::kFp32;
}

// The plan for steps of `tokens` tokens over caches of `context` positions.
Result<FunctionPlan> plan_width(const artifact::Manifest& manifest,
                                const artifact::Function& function, std::int64_t tokens,
                                std::int64_t context, const Programs& shards,
                                const Programs& heads) {
  FunctionPlan plan;
  plan.function = &function;
  plan.context = context;
  const artifact::Function& head_function = *manifest.head_function(function);
  plan.head_function = head_function.name;
  DType flowing = DType::kFp16;  // what leaves the package before
  std::int64_t carried = 0;      // channels beside the hidden state
  const auto hidden = [&] {
    return artifact::hidden_shape(manifest.form.layout, manifest.hidden_size + carried, tokens);
  };
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const artifact::Shard& shard = manifest.shards[s];
    const PackageChecker checker(shard.package, function, *shards[s]);
    ANEMONE_RETURN_IF_ERROR(checker.check_function());
    std::vector<int>& ports = plan.ports.emplace_back();
    std::vector<exec::MaskFact>& facts = plan.facts.emplace_back();
    const std::vector<std::string> as_facts = shards[s]->mask_inputs(function.name);
    for (const artifact::Port& port : shard.inputs) {
      if (port.role == PortRole::kHidden) {
        ANEMONE_ASSIGN_OR_RETURN(const DType dtype, checker.input(port.name, hidden()));
        if (s == 0) plan.hidden_dtype = dtype;
        if (s > 0)
          ANEMONE_RETURN_IF_ERROR(
              checker.check_same(fmt::format("input \"{}\"", port.name), flowing, dtype));
        ports.push_back(FunctionPlan::kHidden);
        continue;
      }
      if (port.role == PortRole::kExperts) {
        ANEMONE_ASSIGN_OR_RETURN(
            const DType dtype,
            checker.input(port.name, artifact::hidden_shape(manifest.form.layout,
                                                            manifest.hidden_size, tokens)));
        ANEMONE_RETURN_IF_ERROR(
            checker.check_same(fmt::format("input \"{}\"", port.name), flowing, dtype));
        ports.push_back(FunctionPlan::kExperts);
        continue;
      }
      HostInput input{.role = port.role,
                      .rope = port.rope.empty() ? nullptr : manifest.rope(port.rope),
                      .window = port.window,
                      .tail = port.tail,
                      .is_bidirectional = manifest.classifies(),
                      .past = manifest.form.past};
      set_columns(manifest, shard, input);
      const Shape shape = host_input_shape(input, tokens, plan.context);
      ANEMONE_ASSIGN_OR_RETURN(input.dtype, port.role == PortRole::kPosition
                                                ? checker.integer_input(port.name, shape)
                                                : checker.input(port.name, shape));
      input.is_fact = is_mask(input) && std::ranges::find(as_facts, port.name) != as_facts.end();
      if (input.is_fact) facts.push_back(mask_fact(input, port.name));
      ports.push_back(index_of(plan.host_inputs, input));
    }
    for (const artifact::Cache& cache : shard.caches)
      ANEMONE_RETURN_IF_ERROR(checker.check_cache(
          cache, tokens, artifact::past_positions(manifest.form.past, plan.context, cache.window)));
    ANEMONE_RETURN_IF_ERROR(checker.check_nothing_else(shard));
    carried = shard.carried;
    ANEMONE_ASSIGN_OR_RETURN(flowing, checker.output(shard.output, hidden()));
    if (shard.experts)
      ANEMONE_RETURN_IF_ERROR(checker.check_experts(
          *shard.experts,
          artifact::hidden_shape(manifest.form.layout, manifest.hidden_size, tokens),
          artifact::hidden_shape(manifest.form.layout, shard.experts->count, tokens), flowing));
    if (s + 1 == shards.size() && manifest.has_head_inside())
      ANEMONE_RETURN_IF_ERROR(check_logits(manifest, manifest.heads, checker, tokens));
  }
  const auto head_packages = manifest.head_packages();
  for (std::size_t p = 0; p < heads.size(); ++p) {
    const PackageChecker checker(head_packages[p].front().package, head_function, *heads[p]);
    ANEMONE_RETURN_IF_ERROR(check_heads(manifest, head_packages[p], checker, tokens, flowing));
  }
  return plan;
}

}  // namespace

Status check_embed(const artifact::Manifest& manifest, const exec::LoadedProgram& program) {
  const artifact::Embed& embed = *manifest.embed;
  artifact::Shard as_shard;
  as_shard.inputs.emplace_back().name = embed.input;
  for (const artifact::Function& function : manifest.functions) {
    if (manifest.head_function(function) != &function) continue;
    const PackageChecker checker(embed.package, function, program);
    ANEMONE_RETURN_IF_ERROR(checker.check_function());
    const Shape shape =
        artifact::hidden_shape(manifest.form.layout, manifest.hidden_size, function.tokens);
    ANEMONE_ASSIGN_OR_RETURN(const DType in, checker.input(embed.input, shape));
    ANEMONE_ASSIGN_OR_RETURN(const DType out, checker.output(embed.output, shape));
    ANEMONE_RETURN_IF_ERROR(checker.check_same("the input", stored_type(manifest), in));
    ANEMONE_RETURN_IF_ERROR(checker.check_same("the output", stored_type(manifest), out));
    ANEMONE_RETURN_IF_ERROR(checker.check_nothing_else(as_shard));
  }
  return {};
}

Status check_expert_packs(const artifact::Manifest& manifest, const artifact::Experts& experts,
                          const Programs& packs) {
  artifact::Shard as_shard;
  as_shard.inputs.emplace_back().name = artifact::kExpertInput;
  for (std::size_t p = 0; p < packs.size(); ++p) {
    const artifact::ExpertPack& pack = experts.packs[p];
    for (std::int64_t e = pack.begin; e < pack.end; ++e)
      for (const std::int64_t width : experts.widths) {
        const artifact::Function function = {.name = artifact::expert_function(e, width)};
        const PackageChecker checker(pack.package, function, *packs[p]);
        ANEMONE_RETURN_IF_ERROR(checker.check_function());
        const Shape shape =
            artifact::hidden_shape(manifest.form.layout, manifest.hidden_size, width);
        ANEMONE_ASSIGN_OR_RETURN(const DType in, checker.input(artifact::kExpertInput, shape));
        ANEMONE_ASSIGN_OR_RETURN(const DType out, checker.output(artifact::kExpertOutput, shape));
        ANEMONE_RETURN_IF_ERROR(checker.check_same("the input", stored_type(manifest), in));
        ANEMONE_RETURN_IF_ERROR(checker.check_same("the output", stored_type(manifest), out));
        ANEMONE_RETURN_IF_ERROR(checker.check_nothing_else(as_shard));
      }
  }
  return {};
}

Result<FunctionPlan> plan_function(const artifact::Manifest& manifest,
                                   const artifact::Function& function, const Programs& shards,
                                   const Programs& heads) {
  const std::int64_t context = manifest.context_of(function);
  if (function.is_flexible)
    ANEMONE_RETURN_IF_ERROR(plan_width(manifest, function, 1, context, shards, heads).status());
  if (manifest.form.has_growing_caches() && !manifest.classifies())
    ANEMONE_RETURN_IF_ERROR(
        plan_width(manifest, function, function.tokens, 1, shards, heads).status());
  return plan_width(manifest, function, function.tokens, context, shards, heads);
}

}  // namespace anemone::engine
