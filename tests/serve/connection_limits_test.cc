// SPDX-License-Identifier: Apache-2.0
#include "serve/http/connection_limits.h"

#include <gtest/gtest.h>

namespace anemone::serve {
namespace {

constexpr Peer kOne = {1}, kOther = {2};

struct Member {
  explicit Member(const Peer& peer) : place(peer) {}
  ConnectionLimits<Member>::Registration place;
};

TEST(ConnectionLimits, TheFirstOneGoes) {
  ConnectionLimits<Member> limits(2);
  Member a(kOne), b(kOne), c(kOne);
  limits.enter(a.place, &a, Phase::kWaiting);
  limits.enter(b.place, &b, Phase::kWaiting);
  EXPECT_EQ(limits.to_evict(Phase::kWaiting), nullptr);
  limits.enter(c.place, &c, Phase::kWaiting);
  EXPECT_EQ(limits.to_evict(Phase::kWaiting), &a);
  // A member that comes again is the last one.
  limits.enter(a.place, &a, Phase::kWaiting);
  EXPECT_EQ(limits.to_evict(Phase::kWaiting), &b);
  limits.leave(b.place);
  limits.leave(b.place);
  EXPECT_EQ(limits.to_evict(Phase::kWaiting), nullptr);
  for (Member* member : {&a, &c}) limits.leave(member->place);
  EXPECT_EQ(limits.first_to_evict(Phase::kWaiting), nullptr);
}

TEST(ConnectionLimits, EachHasPlacesOfItsOwn) {
  ConnectionLimits<Member> limits(1);
  Member a(kOne), b(kOne);
  limits.enter(a.place, &a, Phase::kBody);
  limits.enter(b.place, &b, Phase::kWaiting);
  EXPECT_TRUE(a.place.is_in(Phase::kBody));
  EXPECT_EQ(limits.to_evict(Phase::kWaiting), nullptr);
  limits.enter(b.place, &b, Phase::kBody);
  EXPECT_EQ(limits.to_evict(Phase::kBody), &a);
  for (Member* member : {&a, &b}) limits.leave(member->place);
  EXPECT_FALSE(a.place.is_in(Phase::kBody));
}

TEST(ConnectionLimits, WhoHasMostLosesTheOldestOfHis) {
  ConnectionLimits<Member> limits(3);
  Member old(kOther), a(kOne), b(kOne), c(kOne);
  limits.enter(old.place, &old, Phase::kWaiting);
  for (Member* member : {&a, &b, &c}) limits.enter(member->place, member, Phase::kWaiting);
  EXPECT_EQ(limits.to_evict(Phase::kWaiting), &a);
  limits.leave(a.place);
  limits.leave(b.place);
  EXPECT_EQ(limits.first_to_evict(Phase::kWaiting), &old) << "one each: the older one";
  for (Member* member : {&old, &c}) limits.leave(member->place);
}

}  // namespace
}  // namespace anemone::serve
