// SPDX-License-Identifier: Apache-2.0
// How rules look at a program that need not be lawful: every parameter may be missing.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "ane/rule.h"
#include "ir/program.h"

namespace anemone::ane {

// Every operation of a function, also those of the blocks inside it.
void for_each_op(const ir::Function& function, const std::function<void(const ir::Op&)>& visit);
// Every operation of all functions.
void for_each_op(const ir::Program& program,
                 const std::function<void(const ir::Function&, const ir::Op&)>& visit);

// The type of the first argument of a parameter, or of an attribute; nullptr when there is none.
const ir::Type* type_of(const ir::Op& op, std::string_view parameter);
// The type of the first output; nullptr when there is none.
const ir::Type* output_of(const ir::Op& op);
// The operation that makes the first argument of a parameter; nullptr when no operation does.
const ir::Op* producer_of(const ir::Op& op, std::string_view parameter);

// Size of dimension `axis` (negative: from the end); 0 when there is none or it is not known.
std::int64_t dimension(const ir::Type* type, std::int64_t axis);
// Stored bytes of a tensor, unknown dimensions taken as 1; 0 when there is no such tensor.
std::uint64_t bytes_of(const ir::Type* type);

Place place_of(const ir::Function& function, const ir::Op& op);

}  // namespace anemone::ane
