// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "kernels/reference/common/elements.h"
#include "kernels/reference/image/image.h"
#include "kernels/reference/image/pixels.h"

namespace anemone::kernels::reference {
namespace {

// Position i of `size` from -1 to 1; the only one of an axis is in the middle.
double to_normalized(std::int64_t i, std::int64_t size, bool align_corners) {
  const auto n = static_cast<double>(size);
  const auto place = static_cast<double>(i);
  if (!align_corners) return (2 * place + 1) / n - 1;
  return size == 1 ? 0 : 2 * place / (n - 1) - 1;
}

}  // namespace

// Output (x, y) is input (a0 x + a1 y + a2, b0 x + b1 y + b2), all from -1 to 1: affine_grid and
// grid_sample of PyTorch.
Status affine_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const TensorView matrix = call.input("transform_matrix");
  const MutableTensorView y = call.output();
  if (y.size() == 0) return ok_status();
  const bool aligns = call.boolean("align_corners", true);
  const PixelSampler sample{Padding::kConstant, call.number("padding_value", 0), false};
  const std::vector<float> pixels = to_floats(x);
  const std::vector<float> factors = to_floats(matrix);
  const std::int64_t channels = x.shape[1];
  return visit_floats(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* target = y.as<T>().data();
    call.threads().parallel_for(
        x.shape[0] * channels, 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t c = begin; c < end; ++c) {
            const Plane plane{pixels.data() + c * x.shape[2] * x.shape[3], x.shape[2], x.shape[3]};
            const float* m = factors.data() + (matrix.shape[0] == 1 ? 0 : c / channels) * 6;
            for (std::int64_t i = 0; i < y.shape[2]; ++i) {
              const double v = to_normalized(i, y.shape[2], aligns);
              for (std::int64_t j = 0; j < y.shape[3]; ++j) {
                const double u = to_normalized(j, y.shape[3], aligns);
                const double column = to_pixels(Coordinates::kMinusOneToOne, aligns,
                                                m[0] * u + m[1] * v + m[2], plane.width);
                const double row = to_pixels(Coordinates::kMinusOneToOne, aligns,
                                             m[3] * u + m[4] * v + m[5], plane.height);
                target[(c * y.shape[2] + i) * y.shape[3] + j] =
                    store_element<T>(static_cast<float>(sample(plane, row, column)));
              }
            }
          }
        });
  });
}

}  // namespace anemone::kernels::reference
