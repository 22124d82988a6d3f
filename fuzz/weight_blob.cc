// SPDX-License-Identifier: Apache-2.0
// A weight file: every blob of the list is found again under its offset and lies inside the file.
#include "base/check.h"
#include "fuzz/support.h"
#include "mlpackage/blob.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto reader = mlpackage::BlobReader::open(bytes, nullptr, "input");
  if (!reader.ok()) return 0;
  unsigned sum = 0;
  for (std::uint64_t offset = 0; offset <= size; offset += 32) {
    const auto blob = reader->find(offset);
    if (!blob.ok()) continue;
    for (const std::byte byte : blob->bytes) sum += std::to_integer<unsigned>(byte);
    ANEMONE_CHECK(reader->tensor(offset, blob->dtype, blob->elements).ok());
    ANEMONE_CHECK(!reader->tensor(offset, blob->dtype, blob->elements + 1).ok());
  }
  if (const auto list = reader->list(); list.ok())
    for (const mlpackage::BlobView& blob : *list)
      ANEMONE_CHECK(reader->find(blob.record_offset).ok());
  return sum == 0xffffffff ? -1 : 0;
}
