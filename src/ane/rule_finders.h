// SPDX-License-Identifier: Apache-2.0
// The functions behind the table of rules.cc: each reports the places that break one rule, as
// Rule::find says.
#pragma once

#include "ane/rule.h"

namespace anemone::ane {

// How weights are stored (rule_weights.cc).
void find_block_scales(const Package& package, const Report& report);
void find_palette_scales(const Package& package, const Report& report);
void find_dma_notch(const Package& package, const Report& report);
void find_quantized_dma_notch(const Package& package, const Report& report);

// States, inputs, outputs and functions (rule_interface.cc).
void find_state_widths(const Package& package, const Report& report);
void find_state_shapes(const Package& package, const Report& report);
void find_many_states(const Package& package, const Report& report);
void find_narrow_axes(const Package& package, const Report& report);
void find_ranges(const Package& package, const Report& report);
void find_ranges_with_states(const Package& package, const Report& report);
void find_many_functions(const Package& package, const Report& report);
void find_many_layers(const Package& package, const Report& report);

// Operations (rule_operations.cc).
void find_wide_outputs(const Package& package, const Report& report);
void find_wide_inputs(const Package& package, const Report& report);
void find_many_operations(const Package& package, const Report& report);
void find_softplus(const Package& package, const Report& report);
void find_depthwise_convs(const Package& package, const Report& report);
void find_large_selects(const Package& package, const Report& report);
void find_argmax(const Package& package, const Report& report);
void find_slice_updates(const Package& package, const Report& report);
void find_gathers(const Package& package, const Report& report);

}  // namespace anemone::ane
