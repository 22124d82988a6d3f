// SPDX-License-Identifier: Apache-2.0
#include "values/npy.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace anemone::values {
namespace {

// A file of version 1 with this header.
std::string npy(const std::string& header, const std::string& data) {
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  return out + header + data;
}

std::string header(const std::string& descr, const std::string& order, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape +
         ", }   \n";
}

const std::string kSixBytes("\1\2\3\4\5\6", 6);

TEST(Npy, ReadsBothOrders) {
  const auto rows = parse_npy(npy(header("|u1", "False", "(2, 3)"), kSixBytes), "f");
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  EXPECT_EQ(rows->shape(), (Shape{2, 3}));
  EXPECT_EQ(to_ints(rows->view()), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}));
  const auto columns = parse_npy(npy(header("|u1", "True", "(2, 3)"), kSixBytes), "f");
  ASSERT_TRUE(columns.ok());
  EXPECT_EQ(to_ints(columns->view()), (std::vector<std::int64_t>{1, 3, 5, 2, 4, 6}));
}

TEST(Npy, ReadsScalarsEmptyArraysAndLaterVersions) {
  const auto scalar = parse_npy(npy(header("<i2", "False", "()"), std::string("\1\1", 2)), "f");
  ASSERT_TRUE(scalar.ok()) << scalar.status().message();
  EXPECT_EQ(scalar->shape(), Shape{});
  EXPECT_EQ(to_ints(scalar->view()), (std::vector<std::int64_t>{257}));
  EXPECT_TRUE(parse_npy(npy(header("<f4", "False", "(0, 3)"), ""), "f").ok());
  std::string second = npy(header("|i1", "False", "(6,)"), kSixBytes);
  second[6] = '\2';
  second.insert(10, 2, '\0');
  const auto later = parse_npy(second, "f");
  ASSERT_TRUE(later.ok()) << later.status().message();
  EXPECT_EQ(later->dtype(), DType::kInt8);
}

TEST(Npy, WritesWhatItReads) {
  Tensor array(DType::kInt16, {2, 3});
  std::int16_t next = -2;
  for (std::int16_t& value : array.mutable_view().as<std::int16_t>()) value = next++;
  const auto bytes = npy_bytes(array.view(), "x");
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  // numpy.save(f, numpy.arange(-2, 4, dtype=numpy.int16).reshape(2, 3)).
  const std::string text = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }";
  const std::string header("\x93NUMPY\x01\x00v\x00", 10);
  ASSERT_EQ(bytes->size(), 128U + 12U);
  EXPECT_TRUE(bytes->starts_with(header + text + ' '));
  EXPECT_EQ((*bytes)[127], '\n');
  const auto again = parse_npy(*bytes, "f");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->shape(), (Shape{2, 3}));
  EXPECT_EQ(to_ints(again->view()), to_ints(array.view()));

  for (const Shape& shape : {Shape{}, Shape{1}, Shape{0, 4}}) {
    const auto other = npy_bytes(Tensor(DType::kFp16, shape).view(), "x");
    ASSERT_TRUE(other.ok());
    EXPECT_EQ(parse_npy(*other, "f")->shape(), shape);
  }
  EXPECT_EQ(npy_bytes(Tensor(DType::kBf16, {1}).view(), "x").status().code(), Code::kUnsupported);
}

TEST(Npy, RefusesWhatItCannotRead) {
  const auto code = [](const std::string& bytes) { return parse_npy(bytes, "f").status().code(); };
  EXPECT_EQ(code("no array"), Code::kCorrupt);
  const std::string good = npy(header("|u1", "False", "(2, 3)"), kSixBytes);
  EXPECT_EQ(code(good), Code::kOk);
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_EQ(code(good.substr(0, size)), Code::kCorrupt) << size;
  EXPECT_EQ(code(good + "x"), Code::kCorrupt);
  EXPECT_EQ(code(npy(header(">f4", "False", "(1,)"), "1234")), Code::kUnsupported);
  EXPECT_EQ(code(npy(header("|O", "False", "(1,)"), "1234")), Code::kUnsupported);
  EXPECT_EQ(code(npy(header("<f4", "False", "(-1,)"), "1234")), Code::kCorrupt);
  EXPECT_EQ(code(npy(header("<f4", "False", "(99999999999, 99999999999)"), "")), Code::kCorrupt);
  EXPECT_EQ(code(npy(header("|b1", "False", "(1,)"), "\2")), Code::kCorrupt);
  EXPECT_EQ(code(npy("{'descr': '|u1'}", "")), Code::kCorrupt);
  EXPECT_EQ(code(npy("{", "")), Code::kCorrupt);
}

}  // namespace
}  // namespace anemone::values
