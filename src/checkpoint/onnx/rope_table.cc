// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/onnx/rope_table.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"

namespace anemone::checkpoint::onnx {
namespace {

// Number of positions at which tables are compared: farther on, rounding position * frequency to
// fp32 alone turns the angle by a visible amount.
constexpr std::int64_t kComparedPositions = 1024;

class Table {
 public:
  Table(const Constant& cos, const Constant& sin)
      : cos_(cos.view()), sin_(sin.view()), columns_(cos.shape[1]), positions_(cos.shape[0]) {}

  // Angle per position of column j: taken from the farthest position up to which whole turns can be
  // counted.
  double frequency(std::int64_t j) const {
    double out = angle(1, j);
    for (std::int64_t p = 2; p < std::min(positions_, kComparedPositions); p *= 2) {
      const double turns = std::round((out * static_cast<double>(p) - angle(p, j)) / (2 * M_PI));
      out = (angle(p, j) + 2 * M_PI * turns) / static_cast<double>(p);
    }
    return out;
  }

  // Whether the table has these frequencies. `tolerance`: half a unit of its elements next to 1,
  // and what fp32 adds to the angle.
  bool agrees(const std::vector<double>& frequencies, double tolerance) const {
    for (std::int64_t p = 0; p < std::min(positions_, kComparedPositions); ++p)
      for (std::int64_t j = 0; j < columns_; ++j) {
        const double angle = static_cast<double>(p) * frequencies[static_cast<std::size_t>(j)];
        if (!(std::abs(std::cos(angle) - at(cos_, p, j)) <= tolerance) ||
            !(std::abs(std::sin(angle) - at(sin_, p, j)) <= tolerance))
          return false;
      }
    return true;
  }

  std::int64_t columns() const { return columns_; }
  std::int64_t positions() const { return positions_; }

 private:
  double at(const TensorView& table, std::int64_t p, std::int64_t j) const {
    return element_as_double(table, p * columns_ + j);
  }
  double angle(std::int64_t p, std::int64_t j) const {
    return std::atan2(at(sin_, p, j), at(cos_, p, j));
  }

  TensorView cos_;
  TensorView sin_;
  std::int64_t columns_;
  std::int64_t positions_;
};

// inv_j = theta^(-2j / dim)
std::vector<double> frequencies_of(double theta, std::int64_t columns) {
  std::vector<double> out;
  for (std::int64_t j = 0; j < columns; ++j)
    out.push_back(std::pow(theta, -static_cast<double>(j) / static_cast<double>(columns)));
  return out;
}

double with_digits(double value, int digits) {
  const double unit = std::pow(10, std::floor(std::log10(value)) - digits + 1);
  return std::round(value / unit) * unit;
}

}  // namespace

Result<Json> rope_settings(const Constant& cos, const Constant& sin, const std::string& subject) {
  const Table table(cos, sin);
  if (table.positions() < 2)
    return unsupported("[{}] expected rotary tables of several positions, got {}", subject,
                       table.positions());
  // fp16 next to 1 has steps of 2^-11, fp32 of 2^-24; 1024 positions add 2^-14 to an angle in fp32.
  const double tolerance = cos.dtype == DType::kFp32 ? 0x1p-13 : 0x1p-10;
  std::vector<double> measured;
  for (std::int64_t j = 0; j < table.columns(); ++j) measured.push_back(table.frequency(j));
  Json out = Json::object();
  // Authors choose round numbers.
  if (table.columns() > 1 && measured[1] > 0) {
    const double theta = std::pow(measured[1], -static_cast<double>(table.columns()));
    for (const int digits : {1, 2, 3, 4, 5})
      if (std::isfinite(theta) && theta > 1)
        if (const double round = with_digits(theta, digits);
            table.agrees(frequencies_of(round, table.columns()), tolerance)) {
          out["rope_theta"] = round;
          return out;
        }
  }
  constexpr double kTheta = 10000;
  if (!table.agrees(measured, tolerance) ||
      !std::all_of(measured.begin(), measured.end(), [](double f) { return f > 0; }))
    return unsupported("[{}] expected rotary tables of a fixed frequency per column", subject);
  Json divisors = Json::array();
  const auto plain = frequencies_of(kTheta, table.columns());
  for (std::size_t j = 0; j < measured.size(); ++j) divisors.push_back(plain[j] / measured[j]);
  out["rope_theta"] = kTheta;
  out["rope_scaling"] = {{"rope_type", "divided"}, {"divisors", std::move(divisors)}};
  return out;
}

}  // namespace anemone::checkpoint::onnx
