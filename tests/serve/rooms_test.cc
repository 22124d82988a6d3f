// SPDX-License-Identifier: Apache-2.0
#include "serve/http/rooms.h"

#include <gtest/gtest.h>

namespace anemone::serve {
namespace {

constexpr Peer kOne = {1}, kOther = {2};

struct Guest {
  explicit Guest(const Peer& peer) : place(peer) {}
  Rooms<Guest>::Place place;
};

TEST(Rooms, TheFirstOneGoes) {
  Rooms<Guest> rooms(2);
  Guest a(kOne), b(kOne), c(kOne);
  rooms.enter(a.place, &a, Room::kWaiting);
  rooms.enter(b.place, &b, Room::kWaiting);
  EXPECT_EQ(rooms.one_too_many(Room::kWaiting), nullptr);
  rooms.enter(c.place, &c, Room::kWaiting);
  EXPECT_EQ(rooms.one_too_many(Room::kWaiting), &a);
  // A member that comes again is the last one.
  rooms.enter(a.place, &a, Room::kWaiting);
  EXPECT_EQ(rooms.one_too_many(Room::kWaiting), &b);
  rooms.leave(b.place);
  rooms.leave(b.place);
  EXPECT_EQ(rooms.one_too_many(Room::kWaiting), nullptr);
  for (Guest* guest : {&a, &c}) rooms.leave(guest->place);
  EXPECT_EQ(rooms.first_to_go(Room::kWaiting), nullptr);
}

TEST(Rooms, EachHasPlacesOfItsOwn) {
  Rooms<Guest> rooms(1);
  Guest a(kOne), b(kOne);
  rooms.enter(a.place, &a, Room::kBody);
  rooms.enter(b.place, &b, Room::kWaiting);
  EXPECT_TRUE(a.place.is_in(Room::kBody));
  EXPECT_EQ(rooms.one_too_many(Room::kWaiting), nullptr);
  rooms.enter(b.place, &b, Room::kBody);
  EXPECT_EQ(rooms.one_too_many(Room::kBody), &a);
  for (Guest* guest : {&a, &b}) rooms.leave(guest->place);
  EXPECT_FALSE(a.place.is_in(Room::kBody));
}

TEST(Rooms, WhoHasMostLosesTheOldestOfHis) {
  Rooms<Guest> rooms(3);
  Guest old(kOther), a(kOne), b(kOne), c(kOne);
  rooms.enter(old.place, &old, Room::kWaiting);
  for (Guest* guest : {&a, &b, &c}) rooms.enter(guest->place, guest, Room::kWaiting);
  EXPECT_EQ(rooms.one_too_many(Room::kWaiting), &a);
  rooms.leave(a.place);
  rooms.leave(b.place);
  EXPECT_EQ(rooms.first_to_go(Room::kWaiting), &old) << "one each: the older one";
  for (Guest* guest : {&old, &c}) rooms.leave(guest->place);
}

}  // namespace
}  // namespace anemone::serve
