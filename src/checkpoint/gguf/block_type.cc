// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf/block_type.h"

#include "base/check.h"
#include "checkpoint/gguf/families.h"

namespace anemone::checkpoint::gguf {
namespace {

constexpr BlockType kPlainTypes[] = {
    {.id = 0, .name = "F32", .bytes = 4, .plain = DType::kFp32},
    {.id = 1, .name = "F16", .bytes = 2, .plain = DType::kFp16},
    {.id = 30, .name = "BF16", .bytes = 2, .plain = DType::kBf16},
    {.id = 28, .name = "F64", .bytes = 8, .plain = DType::kFp64},
    {.id = 24, .name = "I8", .bytes = 1, .plain = DType::kInt8},
    {.id = 25, .name = "I16", .bytes = 2, .plain = DType::kInt16},
    {.id = 26, .name = "I32", .bytes = 4, .plain = DType::kInt32},
    {.id = 27, .name = "I64", .bytes = 8, .plain = DType::kInt64},
};

}  // namespace

std::vector<const BlockType*> find_block_types(std::uint32_t id) {
  std::vector<const BlockType*> out;
  for (const std::span<const BlockType> family :
       {std::span<const BlockType>(kPlainTypes), legacy_types(), k_types(), iq_types(),
        ternary_types(), low_bit_types(), fp4_types()})
    for (const BlockType& type : family)
      if (type.id == id) out.push_back(&type);
  return out;
}

std::optional<std::string_view> name_of_activation_type(std::uint32_t id) {
  if (id == 9) return "Q8_1";
  if (id == 15) return "Q8_K";
  return std::nullopt;
}

void decode_block(const BlockType& type, const std::byte* in, std::span<float> out) {
  ANEMONE_CHECK(out.size() == type.values);
  Block block;
  type.unpack(in, block);
  for (std::size_t begin = 0, g = 0; begin < type.values; begin += type.group, ++g)
    for (std::size_t i = begin; i < begin + type.group; ++i) {
      // Adding zero would turn -0 into 0, so that only affine types add.
      const float product = block.scales[g] * static_cast<float>(block.quants[i]);
      out[i] = type.is_affine ? product + block.minimums[g] : product;
    }
}

}  // namespace anemone::checkpoint::gguf
