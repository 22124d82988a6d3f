// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/reference/common/elements.h"
#include "kernels/reference/image/image.h"

namespace anemone::kernels::reference {
namespace {

struct Candidate {
  float x, y, width, height;  // the middle and the size
  float score;                // the best of all classes
  std::int64_t best_class;
};

// Intersection over union; NaN for two boxes without an area.
float overlap(const Candidate& a, const Candidate& b) {
  const float across = std::min(a.x + a.width / 2, b.x + b.width / 2) -
                       std::max(a.x - a.width / 2, b.x - b.width / 2);
  const float down = std::min(a.y + a.height / 2, b.y + b.height / 2) -
                     std::max(a.y - a.height / 2, b.y - b.height / 2);
  const float common = std::max(across, 0.0f) * std::max(down, 0.0f);
  return common / (a.width * a.height + b.width * b.height - common);
}

// One layout of boxes and scores: element (image, box, part).
struct Layout {
  std::int64_t boxes, parts;
  bool is_box_last;
  std::int64_t at(std::int64_t image, std::int64_t box, std::int64_t part) const {
    return image * boxes * parts + (is_box_last ? part * boxes + box : box * parts + part);
  }
};

struct Suppression {
  float iou_threshold, score_threshold;
  std::int64_t max_boxes;
  bool is_per_class;

  // The boxes that stay, the best first; of equal ones the first.
  std::vector<std::int64_t> operator()(const std::vector<Candidate>& all) const {
    std::vector<std::int64_t> order(all.size()), kept;
    std::iota(order.begin(), order.end(), 0);
    const auto candidate = [&](std::int64_t i) -> const Candidate& {
      return all[static_cast<std::size_t>(i)];
    };
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return candidate(a).score > candidate(b).score;
    });
    const auto is_suppressed = [&](std::int64_t i) {
      return std::any_of(kept.begin(), kept.end(), [&](std::int64_t k) {
        return (!is_per_class || candidate(k).best_class == candidate(i).best_class) &&
               overlap(candidate(k), candidate(i)) > iou_threshold;
      });
    };
    for (const std::int64_t i : order) {
      if (static_cast<std::int64_t>(kept.size()) == max_boxes) break;
      if (candidate(i).score >= score_threshold && !is_suppressed(i)) kept.push_back(i);
    }
    // Core ML gives the best box where the threshold leaves none.
    if (kept.empty() && !order.empty() && max_boxes > 0) kept.push_back(order[0]);
    return kept;
  }
};

std::vector<Candidate> candidates_of(const std::vector<float>& boxes, const Layout& box_layout,
                                     const std::vector<float>& scores, const Layout& score_layout,
                                     std::int64_t image) {
  std::vector<Candidate> all;
  for (std::int64_t i = 0; i < box_layout.boxes; ++i) {
    const auto part = [&](std::int64_t p) {
      return boxes[static_cast<std::size_t>(box_layout.at(image, i, p))];
    };
    Candidate c{part(0), part(1), part(2), part(3), -std::numeric_limits<float>::infinity(), 0};
    for (std::int64_t k = 0; k < score_layout.parts; ++k) {
      const float score = scores[static_cast<std::size_t>(score_layout.at(image, i, k))];
      if (!(score > c.score)) continue;  // NaN is no score
      c.score = score;
      c.best_class = k;
    }
    all.push_back(c);
  }
  return all;
}

}  // namespace

// What is left of the results is 0, of the indices -1.
Status non_maximum_suppression_kernel(const KernelCall& call) {
  const TensorView boxes_in = call.input("boxes");
  const TensorView scores_in = call.input("scores");
  const bool is_old = call.has("score_threshold");
  const std::int64_t count = boxes_in.shape[is_old ? 1 : 2];
  const std::int64_t classes = scores_in.shape[is_old ? 2 : 1];
  const std::int64_t max_boxes = call.integer("max_boxes", 0);
  const std::vector<float> boxes = to_floats(boxes_in);
  const std::vector<float> scores = to_floats(scores_in);
  const Layout box_in{count, 4, !is_old}, score_in{count, classes, !is_old};
  const Layout box_out{max_boxes, 4, !is_old}, score_out{max_boxes, classes, !is_old};
  const Suppression suppress{
      static_cast<float>(call.number("iou_threshold", 0)),
      static_cast<float>(call.number("score_threshold", -std::numeric_limits<double>::infinity())),
      max_boxes, call.boolean("per_class_suppression", false)};
  const auto indices = call.output(2).as<std::int32_t>();
  std::fill(indices.begin(), indices.end(), -1);
  return visit_floats(boxes_in.dtype, [&](auto tag) {
    using T = decltype(tag);
    const auto out_boxes = call.output(0).as<T>();
    const auto out_scores = call.output(1).as<T>();
    std::fill(out_boxes.begin(), out_boxes.end(), T{});
    std::fill(out_scores.begin(), out_scores.end(), T{});
    for (std::int64_t n = 0; n < boxes_in.shape[0]; ++n) {
      const auto kept = suppress(candidates_of(boxes, box_in, scores, score_in, n));
      const auto copy = [&](auto target, const Layout& to, const auto source, const Layout& from,
                            std::size_t i) {
        for (std::int64_t p = 0; p < from.parts; ++p)
          target[static_cast<std::size_t>(to.at(n, static_cast<std::int64_t>(i), p))] =
              source[static_cast<std::size_t>(from.at(n, kept[i], p))];
      };
      for (std::size_t i = 0; i < kept.size(); ++i) {
        copy(out_boxes, box_out, boxes_in.as<T>(), box_in, i);
        copy(out_scores, score_out, scores_in.as<T>(), score_in, i);
        indices[static_cast<std::size_t>(n * max_boxes) + i] = static_cast<std::int32_t>(kept[i]);
      }
      if (is_old)
        call.output(3).as<std::int32_t>()[static_cast<std::size_t>(n)] =
            static_cast<std::int32_t>(kept.size());
    }
  });
}

}  // namespace anemone::kernels::reference
