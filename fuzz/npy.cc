// SPDX-License-Identifier: Apache-2.0
// Every element of an array that is read can be converted or is refused, and an array that is
// written is read again.
#include "values/npy.h"

#include "base/check.h"
#include "fuzz/support.h"
#include "values/convert.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  const auto array = values::parse_npy(fuzz::text_of(data, size), "input");
  if (!array.ok()) return 0;
  ANEMONE_CHECK(array->view().size_bytes() <= size);
  const auto written = values::npy_bytes(array->view(), "x");
  ANEMONE_CHECK(written.ok());
  const auto again = values::parse_npy(*written, "again");
  ANEMONE_CHECK(again.ok() && again->shape() == array->shape());
  for (const DType dtype : {DType::kFp16, DType::kFp32, DType::kInt8, DType::kBool}) {
    const auto out = values::convert(array->view(), dtype, "x");
    ANEMONE_CHECK(!out.ok() || out->shape() == array->shape());
  }
  return 0;
}
