// SPDX-License-Identifier: Apache-2.0
#include "quant/kmeans.h"

#include <algorithm>
#include <cmath>

#include "tensor/half.h"

namespace anemone::quant {
namespace {

constexpr std::size_t kHalves = 65536;
// Cells of the histogram that places the first centres: few, so that each holds enough points of a
// small group. With cells of one point or none the first centres would lie too far apart, and
// Lloyd's iterations do not correct that.
constexpr std::size_t kCells = 64;
constexpr int kMaxRounds = 200;

// Halves in the order of their values: negative ones are mirrored, positive ones follow.
std::size_t order_of(std::uint16_t bits) {
  return bits & 0x8000 ? 0x7fffu - (bits & 0x7fffu) : 0x8000u + bits;
}
std::uint16_t bits_of(std::size_t order) {
  return static_cast<std::uint16_t>(order < 0x8000 ? 0x8000u | (0x7fffu - order) : order - 0x8000u);
}

// Sums over the bins before each one.
struct Sums {
  std::vector<double> count{0};
  std::vector<double> moment{0};

  explicit Sums(std::span<const Histogram::Bin> bins) {
    for (const Histogram::Bin& bin : bins) {
      count.push_back(count.back() + bin.count);
      moment.push_back(moment.back() + bin.count * static_cast<double>(bin.value));
    }
  }
};

std::vector<double> first_centres(std::span<const Histogram::Bin> bins, std::size_t count) {
  const double low = static_cast<double>(bins.front().value);
  const double width = (static_cast<double>(bins.back().value) - low) / static_cast<double>(kCells);
  std::vector<double> mass(kCells, 0.0);
  for (const Histogram::Bin& bin : bins) {
    const double cell = (static_cast<double>(bin.value) - low) / width;
    mass[std::min(kCells - 1, static_cast<std::size_t>(cell))] += bin.count;
  }
  double total = 0;
  for (double& m : mass) total += m = std::cbrt(m);
  std::vector<double> centres;
  double sum = 0;
  for (std::size_t cell = 0; cell < kCells && centres.size() < count; ++cell) {
    // The middles of `count` equal shares, as if the density were even within a cell.
    while (centres.size() < count) {
      const double wanted =
          total * (static_cast<double>(centres.size()) + 0.5) / static_cast<double>(count) - sum;
      if (wanted > mass[cell]) break;
      const double share = mass[cell] > 0 ? wanted / mass[cell] : 0;
      centres.push_back(low + (static_cast<double>(cell) + share) * width);
    }
    sum += mass[cell];
  }
  while (centres.size() < count) centres.push_back(static_cast<double>(bins.back().value));
  return centres;
}

}  // namespace

Histogram::Histogram(float unit) : unit_(unit), counts_(kHalves, 0) {}

void Histogram::add(std::span<const float> values) {
  const float factor = 1 / unit_;
  for (const float value : values) ++counts_[order_of(to_half(value * factor).bits)];
}

std::vector<Histogram::Bin> Histogram::bins() const {
  std::vector<Bin> out;
  for (std::size_t order = 0; order < kHalves; ++order)
    if (counts_[order] != 0)
      out.push_back({to_float(Half{bits_of(order)}) * unit_, static_cast<double>(counts_[order])});
  return out;
}

std::vector<float> kmeans(std::span<const Histogram::Bin> bins, std::size_t count) {
  std::vector<float> out;
  if (bins.size() <= count) {
    for (const Histogram::Bin& bin : bins) out.push_back(bin.value);
    return out;
  }
  const Sums sums(bins);
  std::vector<double> centres = first_centres(bins, count);
  for (int round = 0; round < kMaxRounds; ++round) {
    bool moved = false;
    std::size_t begin = 0;
    std::vector<double> next = centres;
    for (std::size_t c = 0; c < count; ++c) {
      std::size_t end = bins.size();
      if (c + 1 < count) {
        const double border = (centres[c] + centres[c + 1]) / 2;
        end = static_cast<std::size_t>(
            std::upper_bound(bins.begin() + static_cast<std::ptrdiff_t>(begin), bins.end(), border,
                             [](double b, const Histogram::Bin& bin) {
                               return b < static_cast<double>(bin.value);
                             }) -
            bins.begin());
      }
      const double weight = sums.count[end] - sums.count[begin];
      if (weight > 0) next[c] = (sums.moment[end] - sums.moment[begin]) / weight;
      moved = moved || next[c] != centres[c];
      begin = end;
    }
    // A centre without points stays where it was and may now lie behind its neighbour.
    std::ranges::sort(next);
    centres = std::move(next);
    if (!moved) break;
  }
  for (const double centre : centres) out.push_back(static_cast<float>(centre));
  return out;
}

}  // namespace anemone::quant
