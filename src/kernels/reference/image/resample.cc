// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "kernels/reference/common/elements.h"
#include "kernels/reference/image/image.h"
#include "kernels/reference/image/pixels.h"

namespace anemone::kernels::reference {

// Coordinates come in the order (x, y).
Status resample_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const TensorView at = call.input("coordinates");
  const MutableTensorView y = call.output();
  if (y.size() == 0) return ok_status();
  const Coordinates mode = parse_coordinates(call.text("coordinates_mode", ""));
  const bool aligns = call.boolean("align_corners", false);
  const PixelSampler sample{parse_padding(call.text("padding_mode", "")),
                            call.number("padding_value", 0),
                            call.text("sampling_mode", "") == "nearest"};
  const std::vector<float> pixels = to_floats(x);
  const std::int64_t channels = x.shape[1];
  const std::int64_t positions = y.shape[2] * y.shape[3];
  return visit_floats(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* target = y.as<T>().data();
    call.threads().parallel_for(
        x.shape[0] * channels, 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t c = begin; c < end; ++c) {
            const Plane plane{pixels.data() + c * x.shape[2] * x.shape[3], x.shape[2], x.shape[3]};
            for (std::int64_t i = 0; i < positions; ++i) {
              const std::int64_t pair = 2 * (c / channels * positions + i);
              const double column =
                  to_pixels(mode, aligns, element_as_double(at, pair), plane.width);
              const double row =
                  to_pixels(mode, aligns, element_as_double(at, pair + 1), plane.height);
              target[c * positions + i] =
                  store_element<T>(static_cast<float>(sample(plane, row, column)));
            }
          }
        });
  });
}

}  // namespace anemone::kernels::reference
