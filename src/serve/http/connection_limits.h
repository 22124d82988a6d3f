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

// What a connection does while no request of it is being answered. The connections in each phase
// are limited by themselves, so that clients that fill one phase (with bodies that never end, with
// answers that they do not read) take nothing from the others.
enum class Phase : std::uint8_t {
  kWaiting,  // for the head of a request, or for the client to close
  kBody,     // the head was accepted, the body comes
  kSending,  // the answer is complete and on its way
};

// The members of each phase in the order in which they came, and which of them to close when there
// are too many. Single-thread.
template <typename Member>
class ConnectionLimits {
  struct Entry {
    Member* member;
    std::uint64_t number;  // the smaller, the longer in the phase
  };
  using Queue = std::list<Entry>;
  using Clients = std::map<Peer, Queue>;

 public:
  // `max_members`: how many each phase holds; at least one.
  explicit ConnectionLimits(std::size_t max_members) : max_members_(max_members) {}
  ConnectionLimits(const ConnectionLimits&) = delete;
  ConnectionLimits& operator=(const ConnectionLimits&) = delete;

  // Where one member stands. The limits outlive it; the member leaves before it ends.
  class Registration {
   public:
    explicit Registration(const Peer& peer) : peer_(peer) {}
    bool is_in(Phase phase) const { return is_inside_ && phase_ == phase; }

   private:
    friend class ConnectionLimits;
    const Peer peer_;
    bool is_inside_ = false;
    Phase phase_ = Phase::kWaiting;
    typename Clients::iterator client_;
    typename Queue::iterator at_;
  };

  // Makes it the last of a phase, from whatever phase it was in. May throw std::bad_alloc; then it
  // is in none.
  void enter(Registration& registration, Member* member, Phase phase) {
    leave(registration);
    PhaseMembers& members = members_[index(phase)];
    const auto client = members.clients.try_emplace(registration.peer_).first;
    client->second.push_back({member, ++number_});
    ++members.count;
    registration.is_inside_ = true;
    registration.phase_ = phase;
    registration.client_ = client;
    registration.at_ = std::prev(client->second.end());
  }
  void leave(Registration& registration) noexcept {
    if (!registration.is_inside_) return;
    PhaseMembers& members = members_[index(registration.phase_)];
    registration.client_->second.erase(registration.at_);
    if (registration.client_->second.empty()) members.clients.erase(registration.client_);
    --members.count;
    registration.is_inside_ = false;
  }

  // The member to close when the phase holds more than it may; else nullptr. It is the oldest
  // member of the client with the most members, so that a single client takes nothing from others,
  // and never the newest member of all.
  Member* to_evict(Phase phase) const {
    return members_[index(phase)].count > max_members_ ? first_to_evict(phase) : nullptr;
  }
  // The member to close first, whether the phase is full or not; nullptr when it is empty.
  Member* first_to_evict(Phase phase) const {
    const Queue* longest = nullptr;
    for (const auto& [peer, queue] : members_[index(phase)].clients) {
      const bool goes_first =
          longest == nullptr || queue.size() > longest->size() ||
          (queue.size() == longest->size() && queue.front().number < longest->front().number);
      if (goes_first && !queue.empty()) longest = &queue;
    }
    return longest == nullptr ? nullptr : longest->front().member;
  }

 private:
  struct PhaseMembers {
    Clients clients;
    std::size_t count = 0;
  };
  static std::size_t index(Phase phase) { return static_cast<std::size_t>(phase); }

  const std::size_t max_members_;
  std::array<PhaseMembers, 3> members_;
  std::uint64_t number_ = 0;
};

}  // namespace anemone::serve
