// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include "kernels/simd/digits_few.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "kernels/simd/digits_few_rows.h"
#include "kernels/simd/unroll.h"

namespace anemone::kernels::simd::digits {
namespace {

// Sums of the digits of kRows rows and kColumns columns, over 16 lanes each.
template <int kRows, int kColumns>
struct LaneSums {
  __m512i high[kRows][kColumns];
  __m512i low[kRows][kColumns];
};

// The same while rows are read. Of few products each step of a read has sums of its own, and each
// digit of the weights: an instruction waits for the last one of its sum, and a row has too few to
// wait meanwhile.
template <typename Row, int kRows, int kColumns>
struct Chains {
  static constexpr bool kIsSplit = kRows * kColumns <= 2;
  static constexpr int kCount = kIsSplit ? Row::kSteps : 1;
  static constexpr int kLow = kIsSplit && Row::kHasLow ? 2 : 1;

  Chains() {
    for_each([&](auto r, auto n, auto c) {
      high[r][n][c] = _mm512_setzero_si512();
      unroll<kLow>([&](auto l) { low[r][n][c][l] = _mm512_setzero_si512(); });
    });
  }
  template <typename Body>
  static void for_each(const Body& body) {
    unroll<kRows>([&](auto r) {
      unroll<kColumns>([&](auto n) { unroll<kCount>([&](auto c) { body(r, n, c); }); });
    });
  }
  LaneSums<kRows, kColumns> sums() const {
    LaneSums<kRows, kColumns> out;
    for_each([&](auto r, auto n, auto c) {
      const __m512i lows =
          kLow == 2 ? _mm512_add_epi32(low[r][n][c][0], low[r][n][c][kLow - 1]) : low[r][n][c][0];
      out.high[r][n] = c == 0 ? high[r][n][c] : _mm512_add_epi32(out.high[r][n], high[r][n][c]);
      out.low[r][n] = c == 0 ? lows : _mm512_add_epi32(out.low[r][n], lows);
    });
    return out;
  }

  __m512i high[kRows][kColumns][kCount];
  __m512i low[kRows][kColumns][kCount][kLow];
};

template <typename Row, int kRows, int kColumns>
inline void add_steps(const Row* rows, std::int64_t step, __mmask64 mask, const std::int8_t* digits,
                      Chains<Row, kRows, kColumns>& sums) {
  using Sums = Chains<Row, kRows, kColumns>;
  digits += step * kColumns * 2 * kStep;
  __m512i high[kRows][Row::kSteps];
  __m512i low[kRows][Row::kSteps];
  unroll<kRows>([&](auto r) { rows[r].read(step, mask, high[r], low[r]); });
  unroll<Row::kSteps>([&](auto s) {
    constexpr int kChain = decltype(s)::value % Sums::kCount;
    unroll<kColumns>([&](auto n) {
      const std::int8_t* at = digits + (s * kColumns + n) * 2 * kStep;
      const __m512i x_high = _mm512_load_si512(at);
      const __m512i x_low = _mm512_load_si512(at + kStep);
      unroll<kRows>([&](auto r) {
        __m512i& high_sum = sums.high[r][n][kChain];
        __m512i& low_sum = sums.low[r][n][kChain][0];
        high_sum = _mm512_dpbusd_epi32(high_sum, high[r][s], x_high);
        low_sum = _mm512_dpbusd_epi32(low_sum, high[r][s], x_low);
        if constexpr (Row::kHasLow) {
          __m512i& mixed_sum = sums.low[r][n][kChain][Sums::kLow - 1];
          mixed_sum = _mm512_dpbusd_epi32(mixed_sum, low[r][s], x_high);
        }
      });
    });
  });
}

// `depth` elements of each row.
template <int kRows, int kColumns, typename Row>
[[gnu::flatten]] inline LaneSums<kRows, kColumns> sum_rows(const Row* rows, std::int64_t depth,
                                                           const std::int8_t* digits) {
  Chains<Row, kRows, kColumns> sums;
  const std::int64_t columns = Row::kSteps * kStep;  // of a read
  const std::int64_t whole = depth / columns * Row::kSteps;
  for (std::int64_t step = 0; step < whole; step += Row::kSteps)
    add_steps(rows, step, ~__mmask64{0}, digits, sums);
  if (const std::int64_t left = depth % columns; left != 0) {
    const std::int64_t bytes = (left + Row::kSteps - 1) / Row::kSteps;
    add_steps(rows, whole, (__mmask64{1} << bytes) - 1, digits, sums);
  }
  return sums.sums();
}

// The sums over the lanes of each of sixteen vectors.
__m512i sum_lanes(const std::int32_t sums[16][16]) {
  __m512i eight[8];
  for (int i = 0; i < 8; ++i) {
    const __m512i a = _mm512_load_si512(sums[2 * i]);
    const __m512i b = _mm512_load_si512(sums[2 * i + 1]);
    eight[i] = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
  }
  __m512i four[4];
  for (int i = 0; i < 4; ++i) {
    const __m512i a = eight[2 * i];
    const __m512i b = eight[2 * i + 1];
    four[i] = _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
  }
  const auto halve = [](__m512i a, __m512i b) {
    return _mm512_add_epi32(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xdd));
  };
  return halve(halve(four[0], four[1]), halve(four[2], four[3]));
}

struct Target {
  float* out;
  std::int64_t ldo;
  std::byte* scratch;
};

// Rows at a time. One after the other is what memory likes best; where the processor has more to
// do, beyond two columns or with two digits a weight, two rows share what is read of the columns'.
template <typename Row>
constexpr int rows_at_a_time(int columns) {
  return columns > 2 || Row::kHasLow ? 2 : 1;
}

// Eight products, finished together: those of kGroup rows with every column, product
// n * kGroup + r.
template <int kColumns>
class Products {
 public:
  static constexpr int kGroup = 8 / kColumns;

  Products(const FewColumns& columns, int low_offset) {
    for (int p = 0; p < 8; ++p) {
      const int n = p / kGroup;
      row_of_[p] = p % kGroup;
      const bool is_column = n < columns.count();
      scales_[p] = is_column ? columns.scales()[n] : 0;
      offsets_[p] = is_column ? kOffset * columns.high_sum(n) : 0;
      offsets_[8 + p] =
          is_column ? kOffset * columns.low_sum(n) + low_offset * columns.high_sum(n) : 0;
    }
  }
  // Rows [first, first + kRows) of the group.
  template <int kRows>
  void set(std::int64_t first, const LaneSums<kRows, kColumns>& sums) {
    for (int n = 0; n < kColumns; ++n)
      for (int r = 0; r < kRows; ++r) {
        const std::int64_t p = n * kGroup + first + r;
        _mm512_store_si512(sums_[p], sums.high[r][n]);
        _mm512_store_si512(sums_[8 + p], sums.low[r][n]);
      }
  }
  // out[product], for `rows` rows with these scales.
  void finish(const float* row_scales, std::int64_t rows, float* out) const {
    const auto some = static_cast<__mmask8>((1u << rows) - 1);
    const __m256 row_scale =
        _mm256_permutevar8x32_ps(_mm256_maskz_loadu_ps(some, row_scales),
                                 _mm256_load_si256(reinterpret_cast<const __m256i*>(row_of_)));
    const __m512 digits =
        _mm512_cvtepi32_ps(_mm512_sub_epi32(sum_lanes(sums_), _mm512_load_si512(offsets_)));
    const __m256 sum = _mm256_fmadd_ps(_mm512_castps512_ps256(digits), _mm256_set1_ps(128.0f),
                                       _mm512_extractf32x8_ps(digits, 1));
    const __m256 scale = _mm256_mul_ps(_mm256_load_ps(scales_), row_scale);
    _mm256_storeu_ps(out, _mm256_mul_ps(sum, scale));
  }

 private:
  alignas(64) std::int32_t sums_[16][16] = {};  // high ones, then low ones
  alignas(64) std::int32_t offsets_[16];
  alignas(32) float scales_[8];
  alignas(32) std::int32_t row_of_[8];
};

template <typename Row, int kColumns>
void multiply_rows(const Matrix& m, std::int64_t begin, std::int64_t end, const FewColumns& columns,
                   const Target& target) {
  const RowBlock block(m, begin, end, target.scratch);
  auto* expanded = reinterpret_cast<std::int8_t*>(target.scratch + row_scratch_bytes(m));
  const std::int64_t steps = few_steps(m);
  const auto row_at = [&](std::int64_t r) {
    if constexpr (std::is_same_v<Row, ExpandedRow>) {
      std::int8_t* high = expanded + r % 2 * 2 * steps * kStep;
      std::int8_t* low = high + steps * kStep;
      for (std::int64_t s = 0; s < steps; ++s)
        block.expand(s, r, 1, high + s * kStep, low + s * kStep);
      return ExpandedRow(high, low);
    } else {
      return Row(m, block, begin, r);
    }
  };
  Products<kColumns> products(columns, Row::kLowOffset);
  constexpr std::int64_t kGroup = Products<kColumns>::kGroup;
  for (std::int64_t first = 0; first < end - begin; first += kGroup) {
    const std::int64_t count = std::min(kGroup, end - begin - first);
    std::int64_t r = 0;
    if constexpr (rows_at_a_time<Row>(kColumns) == 2)
      for (; r + 2 <= count; r += 2) {
        const Row rows[2] = {row_at(first + r), row_at(first + r + 1)};
        products.template set<2>(r, sum_rows<2, kColumns>(rows, m.columns, columns.digits()));
      }
    for (; r < count; ++r) {
      const Row row = row_at(first + r);
      products.template set<1>(r, sum_rows<1, kColumns>(&row, m.columns, columns.digits()));
    }
    float results[8];
    products.finish(block.scales() + first, count, results);
    for (std::int64_t n = 0; n < columns.count(); ++n)
      for (r = 0; r < count; ++r) target.out[n * target.ldo + first + r] = results[n * kGroup + r];
  }
}

template <typename Row>
void multiply_columns(const Matrix& m, std::int64_t begin, std::int64_t end,
                      const FewColumns& columns, const Target& target) {
  switch (columns.places()) {
    case 1:
      return multiply_rows<Row, 1>(m, begin, end, columns, target);
    case 2:
      return multiply_rows<Row, 2>(m, begin, end, columns, target);
    default:
      return multiply_rows<Row, 4>(m, begin, end, columns, target);
  }
}

}  // namespace

std::int64_t FewColumns::storage_bytes(const Matrix& matrix, std::int64_t count) {
  const std::int64_t places =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)));
  // And the digits of one column in their own order.
  return (places + 1) * 2 * kStep * few_steps(matrix);
}

FewColumns::FewColumns(const Matrix& matrix, const Half* const* x, std::int64_t count,
                       std::int64_t stride, std::byte* storage)
    : count_(count),
      places_(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)))),
      depth_(matrix.columns),
      steps_(few_steps(matrix)),
      is_pairwise_(is_pairwise(matrix)),
      digits_(reinterpret_cast<std::int8_t*>(storage)) {
  auto* plain = digits_ + places_ * 2 * kStep * steps_;
  std::memset(plain, 0, static_cast<std::size_t>(2 * kStep * steps_));
  for (std::int64_t n = 0; n < places_; ++n) {
    if (n < count)
      make_column(x[n], stride, n, plain);
    else
      for (std::int64_t s = 0; s < steps_; ++s)
        std::memset(digits_ + (s * places_ + n) * 2 * kStep, 0, 2 * kStep);
  }
}

void FewColumns::make_column(const Half* x, std::int64_t stride, std::int64_t n,
                             std::int8_t* plain) {
  std::int8_t* const low = plain + kStep * steps_;
  scales_[n] = make_digit_column(x, stride, depth_, plain, low);
  __m512i high_sum = _mm512_setzero_si512();
  __m512i low_sum = _mm512_setzero_si512();
  const __m512i ones = _mm512_set1_epi8(1);
  for (std::int64_t s = 0; s < steps_; ++s) {
    // Of a pair of steps the even elements of both go to the first.
    __m512i digits[2];
    for (int digit = 0; digit < 2; ++digit) {
      const std::int8_t* at = digit == 0 ? plain : low;
      if (!is_pairwise_) {
        digits[digit] = _mm512_loadu_si512(at + s * kStep);
        continue;
      }
      const __m512i first = _mm512_loadu_si512(at + s / 2 * 2 * kStep);
      const __m512i second = _mm512_loadu_si512(at + (s / 2 * 2 + 1) * kStep);
      const auto bytes_of = [&](__m512i pairs) {
        return _mm512_cvtepi16_epi8(s % 2 == 0 ? pairs : _mm512_srli_epi16(pairs, 8));
      };
      digits[digit] =
          _mm512_inserti64x4(_mm512_castsi256_si512(bytes_of(first)), bytes_of(second), 1);
    }
    high_sum = _mm512_dpbusd_epi32(high_sum, ones, digits[0]);
    low_sum = _mm512_dpbusd_epi32(low_sum, ones, digits[1]);
    std::int8_t* out = digits_ + (s * places_ + n) * 2 * kStep;
    _mm512_store_si512(out, digits[0]);
    _mm512_store_si512(out + kStep, digits[1]);
  }
  high_sums_[n] = _mm512_reduce_add_epi32(high_sum);
  low_sums_[n] = _mm512_reduce_add_epi32(low_sum);
}

std::int64_t few_scratch_bytes(const Matrix& matrix) {
  return row_scratch_bytes(matrix) + 4 * kStep * few_steps(matrix);  // of two rows
}

void multiply_few(const Matrix& matrix, std::int64_t begin, std::int64_t end,
                  const FewColumns& columns, float* out, std::int64_t ldo, std::byte* scratch) {
  const Target target{out, ldo, scratch};
  if (matrix.form == Matrix::Form::kInt8 && matrix.has_row_scale())
    return multiply_columns<BytesRow>(matrix, begin, end, columns, target);
  if (matrix.form == Matrix::Form::kInt4 && matrix.has_row_scale())
    return multiply_columns<NibblesRow>(matrix, begin, end, columns, target);
  if (matrix.form == Matrix::Form::kInt4)
    return multiply_columns<TilesRow>(matrix, begin, end, columns, target);
  if (matrix.form == Matrix::Form::kPalette && matrix.bits == 4)
    return multiply_columns<Palette16Row>(matrix, begin, end, columns, target);
  multiply_columns<ExpandedRow>(matrix, begin, end, columns, target);
}

}  // namespace anemone::kernels::simd::digits
#endif
