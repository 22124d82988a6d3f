// SPDX-License-Identifier: Apache-2.0
// Internal to serve/http: which connection goes when there are too many.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>

namespace anemone::serve {

// Identifies a client by its address: all of an IPv4 address, the /64 network of an IPv6 address,
// since a single host usually has a whole one.
using Peer = std::array<unsigned char, 16>;

// The states of a connection while no request of it is being answered. Each state, called a room,
// has a number of places of its own, so that clients that fill one (with bodies that never end,
// with answers that they do not read) take nothing from the others.
enum class Room : std::uint8_t {
  kWaiting,  // for the head of a request, or for the client to close
  kBody,     // the head was accepted, the body comes
  kSending,  // the answer is complete and on its way
};

// The members of each room in the order in which they came. Single-thread.
template <typename Member>
class Rooms {
  struct Guest {
    Member* member;
    std::uint64_t number;  // the smaller, the longer in the room
  };
  using Line = std::list<Guest>;
  using Lines = std::map<Peer, Line>;

 public:
  // `places`: how many each room holds; at least one.
  explicit Rooms(std::size_t places) : places_(places) {}
  Rooms(const Rooms&) = delete;
  Rooms& operator=(const Rooms&) = delete;

  // The place of one member in the rooms. The rooms outlive it; the member leaves before it ends.
  class Place {
   public:
    explicit Place(const Peer& peer) : peer_(peer) {}
    bool is_in(Room room) const { return is_inside_ && room_ == room; }

   private:
    friend class Rooms;
    const Peer peer_;
    bool is_inside_ = false;
    Room room_ = Room::kWaiting;
    typename Lines::iterator line_;
    typename Line::iterator at_;
  };

  // Makes it the last of a room, from whatever room it was in. May throw std::bad_alloc; then it is
  // in none.
  void enter(Place& place, Member* member, Room room) {
    leave(place);
    Hall& hall = halls_[index(room)];
    const auto line = hall.lines.try_emplace(place.peer_).first;
    line->second.push_back({member, ++number_});
    ++hall.count;
    place.is_inside_ = true;
    place.room_ = room;
    place.line_ = line;
    place.at_ = std::prev(line->second.end());
  }
  void leave(Place& place) noexcept {
    if (!place.is_inside_) return;
    Hall& hall = halls_[index(place.room_)];
    place.line_->second.erase(place.at_);
    if (place.line_->second.empty()) hall.lines.erase(place.line_);
    --hall.count;
    place.is_inside_ = false;
  }

  // The member to close when the room holds more than its places; else nullptr. It is the oldest
  // member of the client with the most members, so that a single client takes no place from others,
  // and never the newest member of all.
  Member* one_too_many(Room room) const {
    return halls_[index(room)].count > places_ ? first_to_go(room) : nullptr;
  }
  // The member to close first, whether the room is full or not; nullptr when it is empty.
  Member* first_to_go(Room room) const {
    const Line* longest = nullptr;
    for (const auto& [peer, line] : halls_[index(room)].lines) {
      const bool goes_first =
          longest == nullptr || line.size() > longest->size() ||
          (line.size() == longest->size() && line.front().number < longest->front().number);
      if (goes_first && !line.empty()) longest = &line;
    }
    return longest == nullptr ? nullptr : longest->front().member;
  }

 private:
  struct Hall {
    Lines lines;
    std::size_t count = 0;
  };
  static std::size_t index(Room room) { return static_cast<std::size_t>(room); }

  const std::size_t places_;
  std::array<Hall, 3> halls_;
  std::uint64_t number_ = 0;
};

}  // namespace anemone::serve
