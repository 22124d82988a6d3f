#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes iq_grids.gen.h: the codebooks of the IQ types, which are data of the GGUF format, as gguf-py (MIT) holds them.

usage: make_iq_grids.py > iq_grids.gen.h     (needs the package gguf; 0.19.0 was used)
"""
from gguf import quants

GRIDS = [("kIq2XxsGrid", quants.IQ2_XXS), ("kIq2XsGrid", quants.IQ2_XS), ("kIq2SGrid", quants.IQ2_S),
         ("kIq3XxsGrid", quants.IQ3_XXS), ("kIq3SGrid", quants.IQ3_S), ("kIq1Grid", quants.IQ1_S)]
HEAD = """// SPDX-License-Identifier: Apache-2.0
// Made by make_iq_grids.py, not edited by hand: the codebooks of the IQ types, data of the GGUF format (gguf-py 0.19, MIT).
// One entry is 16 bits: eight indices of two bits (IQ2, IQ1) or four of four bits (IQ3), the first one lowest.
#pragma once

#include <array>
#include <cstdint>

namespace anemone::checkpoint::gguf {
"""

print(HEAD)
for name, kind in GRIDS:
    rows, columns = kind.grid_shape
    packed = bytes.fromhex(kind.grid_hex.decode())
    assert len(packed) == 2 * rows
    words = [packed[i] | packed[i + 1] << 8 for i in range(0, len(packed), 2)]
    print(f"inline constexpr std::array<std::uint16_t, {rows}> {name} = {{")
    for i in range(0, rows, 16):
        print("    " + ", ".join(f"0x{word:04x}" for word in words[i:i + 16]) + ",")
    print("};\n")
print("}  // namespace anemone::checkpoint::gguf")
