// SPDX-License-Identifier: Apache-2.0
// A picture that is read has as many samples as it says, is the same after it was written, and can
// have any other size.
#include "values/picture.h"

#include "base/check.h"
#include "fuzz/support.h"
#include "values/fit.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  const auto picture =
      values::parse_picture(fuzz::text_of(data, size), "input", values::Transparency::kOverWhite);
  if (!picture.ok()) return 0;
  const auto samples = static_cast<std::int64_t>(picture->samples.size());
  ANEMONE_CHECK(samples == picture->height * picture->width * picture->channels);
  if (samples > 1 << 16) return 0;
  ANEMONE_CHECK(values::fitted(*picture, 7, 5).samples.size() ==
                static_cast<std::size_t>(35 * picture->channels));
  const auto bytes = values::png_bytes(*picture);
  ANEMONE_CHECK(bytes.ok());
  const auto back = values::parse_png(*bytes, "output");
  ANEMONE_CHECK(back.ok() && back->samples == picture->samples);
  return 0;
}
