// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <vector>

#include "kernels/reference/common/elements.h"
#include "kernels/reference/image/image.h"
#include "kernels/reference/image/pixels.h"
#include "kernels/reference/image/sampling.h"

namespace anemone::kernels::reference {
namespace {

struct Box {
  double top, left, bottom, right;  // in pixels
};

// The four numbers of a box in the order and meaning of box_coordinate_mode.
class BoxReader {
 public:
  explicit BoxReader(const KernelCall& call) {
    const TensorView x = call.input("x");
    const std::string_view mode = call.text("box_coordinate_mode", "CORNERS_HEIGHT_FIRST");
    is_center_ = mode.starts_with("CENTER");
    is_width_first_ = mode.ends_with("WIDTH_FIRST");
    height_scale_ = width_scale_ = call.number("spatial_scale", 1);
    if (call.boolean("normalized_coordinates", false)) {
      height_scale_ *= static_cast<double>(x.shape[2] - 1);
      width_scale_ *= static_cast<double>(x.shape[3] - 1);
    }
  }

  Box operator()(const TensorView& numbers, std::int64_t offset) const {
    std::array<double, 4> n;
    for (std::int64_t i = 0; i < 4; ++i)
      n[static_cast<std::size_t>(is_width_first_ ? i ^ 1 : i)] =
          element_as_double(numbers, offset + i);
    if (is_center_) n = {n[0] - n[2] / 2, n[1] - n[3] / 2, n[0] + n[2] / 2, n[1] + n[3] / 2};
    return {n[0] * height_scale_, n[1] * width_scale_, n[2] * height_scale_, n[3] * width_scale_};
  }

 private:
  bool is_center_, is_width_first_;
  double height_scale_, width_scale_;
};

// Points that are no pixels of x at all have pad_value; NaN is none.
bool is_inside(double place, std::int64_t size) {
  return place >= 0 && place <= static_cast<double>(size - 1);
}

std::vector<double> points_of(std::string_view mode, double first, double last,
                              std::int64_t count) {
  if (std::isfinite(first) && std::isfinite(last)) return grid_points(mode, first, last, count);
  return std::vector<double>(static_cast<std::size_t>(count), -1.0);
}

}  // namespace

// roi [n, 1, 4 or 5, 1, 1] up to iOS16 and boxes [n, 4] since have the same order of numbers. The
// result is one picture after another either way.
Status crop_resize_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const MutableTensorView y = call.output();
  if (y.size() == 0) return ok_status();
  const bool is_roi = call.has("roi");
  const TensorView boxes = call.input(is_roi ? "roi" : "boxes");
  const std::int64_t numbers = is_roi ? boxes.shape[2] : 4;
  const std::int64_t crops = is_roi ? y.shape[1] : 1;  // of each box
  const BoxReader read(call);
  const std::string_view mode = call.text("sampling_mode", "DEFAULT");
  const double pad_value = call.number("pad_value", 0);
  const std::vector<float> pixels = to_floats(x);
  const std::int64_t channels = x.shape[1];
  const std::int64_t height = y.shape[y.shape.size() - 2];
  const std::int64_t width = y.shape.back();
  const auto picture_of = [&](std::int64_t box, std::int64_t crop) {
    if (is_roi) return numbers == 5 ? element_as_int(boxes, box * 5) : crop;
    return call.has("box_indices") ? element_as_int(call.input("box_indices"), box) : box;
  };
  return visit_floats(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* target = y.as<T>().data();
    call.threads().parallel_for(
        boxes.shape[0] * crops, 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t task = begin; task < end; ++task) {
            const std::int64_t n = task / crops;
            const Box box = read(boxes, n * numbers + numbers - 4);
            const auto rows = points_of(mode, box.top, box.bottom, height);
            const auto columns = points_of(mode, box.left, box.right, width);
            const std::int64_t picture = picture_of(n, task % crops);
            T* out = target + task * channels * height * width;
            for (std::int64_t c = 0; c < channels; ++c) {
              const Plane plane{pixels.data() + (picture * channels + c) * x.shape[2] * x.shape[3],
                                x.shape[2], x.shape[3]};
              for (const double row : rows)
                for (const double column : columns) {
                  const bool is_pixel =
                      is_inside(row, plane.height) && is_inside(column, plane.width);
                  const double value = is_pixel ? PixelSampler()(plane, row, column) : pad_value;
                  *out++ = store_element<T>(static_cast<float>(value));
                }
            }
          }
        });
  });
}

}  // namespace anemone::kernels::reference
