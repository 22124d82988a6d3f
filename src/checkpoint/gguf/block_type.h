// SPDX-License-Identifier: Apache-2.0
// How GGUF stores numbers: the table of its types. Every quantized type is blocks of small integers
// with scales:
//
//   value[i] = scale[i / group] * quant[i]  (+ minimum[i / group] for the affine types)
//
// in fp32, in this order of operations, which gives the bits of gguf-py. One file per family.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"

namespace anemone::checkpoint::gguf {

inline constexpr std::size_t kMaxBlockValues = 512;
inline constexpr std::size_t kMaxBlockGroups = 32;

// One block taken apart. `minimums` belong to affine types alone.
struct Block {
  std::array<std::int8_t, kMaxBlockValues> quants;
  std::array<float, kMaxBlockGroups> scales;
  std::array<float, kMaxBlockGroups> minimums;
};

struct BlockType {
  std::uint32_t id = 0;  // in the file
  std::string_view name;
  std::uint32_t values = 1;  // of a block
  std::uint32_t bytes = 0;   // of a block
  // Set for plain elements: a block is one of them, and the rest of the row has no meaning.
  std::optional<DType> plain = {};
  std::uint32_t group = 0;  // values that share a scale; divides `values`
  // Quants fit into an integer of so many bits, 4 or 8, which is signed but for affine types.
  std::uint32_t bits = 8;
  bool is_affine = false;
  bool has_half_scales = false;  // fp16 holds every scale, since the file does
  // Reads exactly `bytes` bytes and fills the first `values` quants and `values / group` scales.
  void (*unpack)(const std::byte* in, Block& out) = nullptr;
};

// All types with this number: none if the number means nothing here, two if other programs gave it
// to a type of their own.
std::vector<const BlockType*> find_block_types(std::uint32_t id);

// Name of a type that ggml uses only for activations while it computes; nothing for all other
// types. No file should have such blocks: gguf-py knows their sizes (a different one for Q8_1 than
// ggml) and no values.
std::optional<std::string_view> name_of_activation_type(std::uint32_t id);

// A whole block to floats. `out` has `type.values` elements; not for plain types.
void decode_block(const BlockType& type, const std::byte* in, std::span<float> out);

}  // namespace anemone::checkpoint::gguf
