// SPDX-License-Identifier: Apache-2.0
// What a metadata.json adds to an interface either fails the check or fits the program.
#include "base/check.h"
#include "fuzz/support.h"
#include "ir/text.h"
#include "mlpackage/compiled_interface.h"
#include "mlpackage/interface_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  constexpr std::string_view kProgram = R"(program(1.3) {
    func main<ios18>(tensor<fp16, [1, ?]> x, tensor<fp16, [1, 3, ?, ?]> picture) {
      tensor<fp16, [1, ?]> y = softplus(x = x)[name = string("y")];
    } -> (y);
  })";
  mlpackage::Model model;
  auto program = ir::parse(kProgram, "program");
  ANEMONE_CHECK(program.ok());
  model.program = std::move(*program);
  model.functions = {mlpackage::interface_of(*model.program.functions().front())};
  auto& interface = model.functions.front();
  if (!mlpackage::add_metadata(fuzz::text_of(data, size), "input", interface).ok()) return 0;
  if (!mlpackage::check_interface(model, 10).ok()) return 0;
  for (const mlpackage::FeatureDescription& input : interface.inputs)
    ANEMONE_CHECK(is_static(input.shape) && (input.shape.size() == 2 || input.shape.size() == 4));
  return 0;
}
