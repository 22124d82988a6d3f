// SPDX-License-Identifier: Apache-2.0
// A model file (protobuf) without weights. What is read is judged by the verifier and the laws of
// the chip, and printed; what is lawful runs through the printer and the parser to the same
// program.
#include "ane/check.h"
#include "base/check.h"
#include "fuzz/support.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "mlpackage/package_reader.h"
#include "ops/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  const auto model = mlpackage::parse_model(std::as_bytes(std::span(data, size)), "input");
  if (!model.ok()) {
    ANEMONE_CHECK(model.status().message().starts_with("[input]"));
    return 0;
  }
  ANEMONE_CHECK(!model->functions.empty());
  // What the laws of the chip say of it, lawful or not.
  const ane::CheckedPackage checked = ane::check_package("input", *model, 0);
  ANEMONE_CHECK(checked.functions.size() == model->program.functions().size());
  const std::string text = ir::print(model->program);
  if (!ir::verify(model->program, ops::op_registry()).ok()) return 0;
  const auto again = ir::parse(text, "printed");
  ANEMONE_CHECK(again.ok());
  const auto difference = ir::first_difference(model->program, *again);
  ANEMONE_CHECK(difference.ok() && difference->empty());
  return 0;
}
