// SPDX-License-Identifier: Apache-2.0
// MIL text: the form that coremlcompiler writes into model.mil, one operation per line. Used by
// `inspect`, by tests and by people.
//
//   program(1.3)
//   [buildInfo = dict<string, string>({{"coremltools-version", "9.0"}})]
//   {
//       func main<ios18>(tensor<fp16, [1, 4]> x, state<tensor<fp16, [1, 4]>> cache) {
//           tensor<int32, [1]> axes = const()[name = string("axes"), val = tensor<...>([1])];
//           tensor<fp16, [4, 4]> w = const()[name = string("w"), val = tensor<...>(BLOBFILE(
//               path = string("@model_path/weights/weight.bin"), offset = uint64(64)))];
//           tensor<fp16, [1]> y = reduce_sum(axes = axes, x = x)[name = string("y")];
//       } -> (y);
//   }
//
// Up to ios17 the text is a program(1.0), in which every scalar is a tensor without dimensions:
// "tensor<string, []>("axes")" (Syntax).
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ir/program.h"

namespace anemone::ir {

// Where the bytes of a constant lie.
struct BlobReference {
  std::string path = "@model_path/weights/weight.bin";  // the one file of a package
  std::uint64_t offset = 0;                             // of the record in the file
};

// The syntax that goes with the targets of the functions: a program has the one of its newest.
Syntax syntax_of(const Program& program);

struct PrintOptions {
  // Constants of more elements than this are shown as "...": shorter text, but it does not parse
  // back. Negative: everything is written out and the text parses to the same program.
  std::int64_t max_elements = -1;
  // When set, constants for which it returns a reference are written as BLOBFILE(path, offset).
  std::function<std::optional<BlobReference>(const Literal&)> blob = nullptr;
  std::optional<Syntax> syntax = std::nullopt;  // none: syntax_of()
};
std::string print(const Program& program, const PrintOptions& options = {});

struct ParseOptions {
  // Resolves BLOBFILE(path, offset) to a literal of the given type; without it such a constant is
  // kUnsupported.
  std::function<Result<Literal>(const Type&, std::string_view path, std::uint64_t offset)> blob =
      nullptr;
};
// kParseError with line and column: "[subject:12:5] expected ')', got ','". Accepts what print()
// writes with max_elements < 0 in either syntax, with any white space and // comments. The result
// is not yet verified.
Result<Program> parse(std::string_view text, std::string_view subject,
                      const ParseOptions& options = {});

}  // namespace anemone::ir
