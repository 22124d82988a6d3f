// SPDX-License-Identifier: Apache-2.0
// The three numberings of element types in a package.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/dtype.h"

namespace anemone::mlpackage {

// MIL program: data_type of a tensor type. nullopt: a code that no DType stands for (fp8, unused).
std::optional<DType> dtype_of_mil_code(std::int32_t code);
std::int32_t mil_code(DType dtype);

// Weight blob: dtype of a record. bool, string and 64-bit types have none.
std::optional<DType> dtype_of_blob_code(std::uint32_t code);
std::optional<std::uint32_t> blob_code(DType dtype);

// Description of the interface: data type of a multi-array.
std::optional<DType> dtype_of_array_code(std::int32_t code);
std::optional<std::int32_t> array_code(DType dtype);

}  // namespace anemone::mlpackage
