// SPDX-License-Identifier: Apache-2.0
// Reductions over any set of axes. An accumulator takes the elements one by one:
//   struct Sum {
//     float value = 0;
//     void add(float x);              // int64 for integers
//     void merge(const Sum& other);   // elements that another accumulator took
//     float finish(std::int64_t count) const;
//   };
#pragma once

#include <algorithm>
#include <array>
#include <type_traits>

#include "kernels/kernel.h"
#include "kernels/reference/common/elements.h"
#include "kernels/reference/common/strided_rows.h"

namespace anemone::kernels::reference {

// The dimensions of x, those that stay and those that go.
struct ReductionPlan {
  Shape kept;
  Strides kept_strides;
  Shape reduced;
  Strides reduced_strides;
  std::int64_t count = 1;  // elements of x for one of the result
};
Result<ReductionPlan> plan_reduction(const KernelCall& call);

// The elements of one result go to eight accumulators in turn, so that the additions need not wait
// for each other; then these are merged. Both forms below take this same order: a result does not
// depend on how many others lie beside it (a prefill gives the bits of single steps).
inline constexpr std::size_t kReductionLanes = 8;

template <typename A>
A merge_lanes(std::array<A, kReductionLanes>& lanes) {
  for (std::size_t width = kReductionLanes / 2; width > 0; width /= 2)
    for (std::size_t lane = 0; lane < width; ++lane) lanes[lane].merge(lanes[lane + width]);
  return lanes[0];
}

// One result.
template <typename A, typename T>
A accumulate(const T* data, const StridedRows<1>& reduced) {
  constexpr auto kLanes = static_cast<std::int64_t>(kReductionLanes);
  std::array<A, kReductionLanes> lanes{};
  const std::int64_t length = reduced.row_length();
  const std::int64_t step = reduced.row_stride(0);
  reduced.for_rows(0, reduced.rows(), [&](const StridedRows<1>::Offsets& offsets, std::int64_t) {
    const T* row = data + offsets[0];
    std::int64_t i = 0;
    for (; i + kLanes <= length; i += kLanes)
      for (std::int64_t lane = 0; lane < kLanes; ++lane)
        lanes[static_cast<std::size_t>(lane)].add(load_element(row[(i + lane) * step]));
    for (; i < length; ++i)
      lanes[static_cast<std::size_t>(i % kLanes)].add(load_element(row[i * step]));
  });
  return merge_lanes(lanes);
}

// Neighbouring results at once, for reduced axes that are not the innermost: whole rows of x are
// read.
template <typename A, typename T>
void accumulate_columns(const T* data, std::int64_t columns, const StridedRows<1>& reduced,
                        std::array<A, kReductionLanes>* out) {
  const std::int64_t length = reduced.row_length();
  const std::int64_t step = reduced.row_stride(0);
  reduced.for_rows(0, reduced.rows(), [&](const StridedRows<1>::Offsets& offsets, std::int64_t) {
    for (std::int64_t i = 0; i < length; ++i) {
      const T* row = data + offsets[0] + i * step;
      const std::size_t lane = static_cast<std::size_t>(i) % kReductionLanes;
      for (std::int64_t c = 0; c < columns; ++c) out[c][lane].add(load_element(row[c]));
    }
  });
}

template <typename A, typename T>
void reduce(const TensorView& x, const MutableTensorView& y, const ReductionPlan& plan,
            ThreadPool& threads) {
  const T* data = x.as<T>().data();
  T* target = y.as<T>().data();
  const StridedRows<1> reduced(plan.reduced, {plan.reduced_strides});
  const StridedRows<2> kept(plan.kept, {strides_of(plan.kept), plan.kept_strides});
  const bool in_columns = kept.row_stride(1) == 1 && kept.row_length() > 1;
  // One kept element costs `count` reads.
  const std::int64_t grain =
      std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, plan.count));
  const auto finish = [&](const A& a) { return store_element<T>(a.finish(plan.count)); };

  const auto do_part = [&](const StridedRows<2>::Offsets& offsets, std::int64_t begin,
                           std::int64_t end) {
    T* out = target + offsets[0];
    const T* in = data + offsets[1];
    if (!in_columns) {
      for (std::int64_t i = begin; i < end; ++i)
        out[i] = finish(accumulate<A>(in + i * kept.row_stride(1), reduced));
      return;
    }
    constexpr std::int64_t kBlock = 64;
    for (std::int64_t i = begin; i < end; i += kBlock) {
      std::array<std::array<A, kReductionLanes>, kBlock> block{};
      const std::int64_t columns = std::min(kBlock, end - i);
      accumulate_columns(in + i, columns, reduced, block.data());
      for (std::int64_t c = 0; c < columns; ++c)
        out[i + c] = finish(merge_lanes(block[static_cast<std::size_t>(c)]));
    }
  };
  if (kept.rows() == 1) {
    threads.parallel_for(kept.row_length(), grain,
                         [&](std::int64_t begin, std::int64_t end) { do_part({}, begin, end); });
    return;
  }
  const std::int64_t row_grain =
      std::max<std::int64_t>(1, grain / std::max<std::int64_t>(1, kept.row_length()));
  threads.parallel_for(kept.rows(), row_grain, [&](std::int64_t begin, std::int64_t end) {
    kept.for_rows(begin, end, [&](const StridedRows<2>::Offsets& offsets, std::int64_t) {
      do_part(offsets, 0, kept.row_length());
    });
  });
}

// Runs the reduction of the call with A<float> for floats and A<std::int64_t> for int32.
template <template <typename> typename A>
Status reduce_with(const KernelCall& call) {
  const TensorView x = call.input("x");
  ANEMONE_ASSIGN_OR_RETURN(const ReductionPlan plan, plan_reduction(call));
  return visit_numeric(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    reduce<A<Computed<T>>, T>(x, call.output(), plan, call.threads());
  });
}

}  // namespace anemone::kernels::reference
