// SPDX-License-Identifier: Apache-2.0
// MIL text never crashes the parser, and what parses prints, in either syntax, to text
// that parses to the same program.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "ir/program.h"
#include "ir/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  const auto program = ir::parse({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!program.ok()) return 0;
  for (const ir::Syntax syntax : {ir::Syntax::kTensors, ir::Syntax::kScalars}) {
    const std::string text = ir::print(*program, {.syntax = syntax});
    const auto again = ir::parse(text, "printed");
    ANEMONE_CHECK(again.ok());
    const auto difference = ir::first_difference(*program, *again);
    ANEMONE_CHECK(difference.ok() && difference->empty());
  }
  return 0;
}
