// SPDX-License-Identifier: Apache-2.0
// A whole package: Manifest.json, the model and its weight file as parts of one input.
#include "base/check.h"
#include "fuzz/support.h"
#include "ir/text.h"
#include "mlpackage/package_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  const fuzz::ScratchFolder folder(fuzz::split_parts(fuzz::text_of(data, size)));
  const auto model = mlpackage::read_package(folder.path());
  if (!model.ok()) {
    ANEMONE_CHECK(model.status().message().starts_with("["));
    return 0;
  }
  ANEMONE_CHECK(!ir::print(model->program).empty());
  return 0;
}
