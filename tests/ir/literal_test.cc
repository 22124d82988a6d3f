// SPDX-License-Identifier: Apache-2.0
#include "ir/literal.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace anemone::ir {
namespace {

TEST(Literal, IsEqualToAnotherWithTheSameTypeAndContent) {
  EXPECT_TRUE(*equal(Literal::int32s({1, 2}), Literal::int32s({1, 2})));
  EXPECT_FALSE(*equal(Literal::int32s({1, 2}), Literal::int32s({1, 3})));
  EXPECT_FALSE(*equal(Literal::int32(1), Literal::int32s({1})));
  EXPECT_FALSE(*equal(Literal::number(1, DType::kFp16), Literal::number(1, DType::kFp32)));
  EXPECT_TRUE(*equal(Literal::text("a"), Literal::text("a")));
  EXPECT_FALSE(*equal(Literal::text("a"), Literal::text("b")));
  EXPECT_FALSE(
      *equal(Literal::string_dictionary({{"a", "b"}}), Literal::string_dictionary({{"a", "c"}})));
}

TEST(Literal, GivesTextOnlyForAScalarString) {
  EXPECT_EQ(Literal::text("abc").as_text(), "abc");
  EXPECT_FALSE(Literal::int32(1).as_text().has_value());
}

TEST(Literal, SharesItsDataWithItsCopies) {
  const Literal a = Literal::int32s({1, 2, 3});
  const Literal copy = a;
  EXPECT_EQ(a.data(), copy.data());
  EXPECT_EQ(a.data()->size_bytes(), 12u);
}

TEST(Literal, LazyDataIsMadeAtEachLoadAndSaysWhyItFailed) {
  int calls = 0;
  const Literal lazy(Type::tensor(DType::kInt32, {2}), lazy_data(8, [&]() -> Result<Tensor> {
                       if (++calls > 1) return io_error("[w] gone");
                       return Tensor::from<std::int32_t>({2}, std::vector<std::int32_t>{7, 8});
                     }));
  EXPECT_FALSE(lazy.data()->is_resident());
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(to_ints(lazy.to_tensor()->view()), (std::vector<std::int64_t>{7, 8}));
  EXPECT_EQ(lazy.to_tensor().status().message(), "[w] gone");
}

}  // namespace
}  // namespace anemone::ir
