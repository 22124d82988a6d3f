// SPDX-License-Identifier: Apache-2.0
#include "exec/handle_table.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <memory>

namespace anemone::exec {
namespace {

enum class Handle : std::uint64_t { kNone = 0 };

TEST(HandleTable, GivesEachObjectAHandleOfItsOwn) {
  HandleTable<Handle, int> table;
  const Handle a = table.add(7);
  const Handle b = table.add(7);
  EXPECT_NE(a, Handle::kNone);
  EXPECT_NE(a, b);
  table.remove(a);
  EXPECT_EQ(table.find(a), 0);
  EXPECT_EQ(table.find(b), 7);
  EXPECT_NE(table.add(8), a);  // a stale handle never leads to another object
}

TEST(HandleTable, KnowsNoHandleThatItDidNotGive) {
  HandleTable<Handle, std::shared_ptr<int>> table;
  EXPECT_EQ(table.find(Handle::kNone), nullptr);
  table.remove(Handle{5});
  EXPECT_EQ(table.find(Handle{5}), nullptr);
}

TEST(HandleTable, EndsObjectsWithoutItsLock) {
  HandleTable<Handle, std::shared_ptr<int>> table;
  int object = 1;
  bool was_there = true;
  Handle handle = Handle::kNone;
  const auto end = [&](int*) { was_there = table.find(handle) != nullptr; };
  handle = table.add(std::shared_ptr<int>(&object, end));
  table.remove(handle);
  EXPECT_FALSE(was_there);
}

}  // namespace
}  // namespace anemone::exec
