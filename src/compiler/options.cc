// SPDX-License-Identifier: Apache-2.0
#include "compiler/options.h"

#include <fmt/format.h>

#include "ane/form.h"

namespace anemone::compiler {

artifact::Form default_form(Processor processor) {
  artifact::Form form = ane::named_forms().front().form;
  if (processor == Processor::kCpu) form.notch = artifact::NotchForm::kIgnored;
  return form;
}

std::string describe_options(const CompileOptions& options) {
  const quant::QuantOptions& quant = options.recipe.quant;
  std::string text = fmt::format(
      "target {} precision {} quant {} bits {} block {} palette {} group {} threshold {} context "
      "{} tiers "
      "[{}] "
      "prefill {} verify {} range {} shards {} experts {} heads {}{}",
      ir::opset_target(options.target), dtype_name(options.precision),
      quant::scheme_name(quant.scheme), quant.keeps_bits ? "kept" : "chosen", quant.block_size,
      quant.palette_mode == quant::PaletteMode::kKmeans ? "kmeans" : "uniform", quant.group_size,
      quant.threshold, options.context, fmt::join(options.tiers, " "), options.prefill,
      options.draft_width, options.range_dim, options.packages.layers, options.packages.experts,
      options.packages.heads, options.packages.has_head_inside ? " inside" : "");
  for (const artifact::FormField& field : artifact::form_fields())
    text += fmt::format(" {} {}", field.name, field.value_of(options.form));
  for (const auto& [role, scheme] : options.recipe.by_role)
    text += fmt::format(" role {} {}", static_cast<int>(role), quant::scheme_name(scheme));
  return text;
}

}  // namespace anemone::compiler
