// SPDX-License-Identifier: Apache-2.0
// How laws look at a program that need not be lawful: every parameter may be missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "ane/law.h"
#include "ir/program.h"

namespace anemone::ane {

// Every operation of all functions, also those of the blocks inside others. `index` is that in
// SurveyedFunction::operations.
void for_each_op(const Package& package,
                 const std::function<void(const ir::Function& function, const ir::Op& op,
                                          std::size_t index)>& visit);

// The type of the first argument of a parameter, or of an attribute; nullptr when there is none.
const ir::Type* type_of(const ir::Op& op, std::string_view parameter);
// The type of the first output; nullptr when there is none.
const ir::Type* output_of(const ir::Op& op);
// The operation that makes the first argument of a parameter; nullptr when no operation does.
const ir::Op* producer_of(const ir::Op& op, std::string_view parameter);

// Size of dimension `axis` (negative: from the end); 0 when there is none or it is not known.
std::int64_t dimension(const ir::Type* type, std::int64_t axis);
// Stored bytes of a tensor or state, unknown dimensions taken as 1; 0 when there is no such tensor.
std::uint64_t bytes_of(const ir::Type* type);
// Whether a tensor takes more than a page of memory (kPageBytes). Some laws do not report smaller
// ones: shapes, axes and other small tensors are in every program.
bool is_large(const ir::Type* type);

bool has_states(const ir::Function& function);
// Neither a constant nor what restores one.
bool is_computed(const ir::Op& op);
// conv, conv_transpose or linear, whose weights are constants in what a compiler writes.
bool is_weighted(const ir::Op& op);

// Reports every operation beside constants of which `describe` says something.
void report_operations(
    const Package& package, const Reporter& report,
    const std::function<std::string(const ir::Function&, const ir::Op&)>& describe);
// Reports every operation of one of these types, by its type.
void report_types(const Package& package, const Reporter& report,
                  std::initializer_list<std::string_view> types);

// The place of an operation that for_each_op() visits.
Place place_of(const ir::Function& function, const ir::Op& op, std::size_t index);

}  // namespace anemone::ane
