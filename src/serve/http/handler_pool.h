// SPDX-License-Identifier: Apache-2.0
// Internal to serve/http: the threads that prepare requests, and those that wait for them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "serve/http/exchange.h"
#include "serve/http/message.h"

namespace anemone::serve {

// Calls HttpHandler::handle() on a few threads of its own, for a bounded number of requests, in the
// order in which they came. Whatever a call throws ends its request alone. Thread-safe.
class HandlerPool {
 public:
  // The handler outlives the pool.
  HandlerPool(HttpHandler& handler, int threads, std::size_t max_waiting);
  // stop(), and waits for the calls in progress.
  ~HandlerPool();
  HandlerPool(const HandlerPool&) = delete;
  HandlerPool& operator=(const HandlerPool&) = delete;

  // 0 when the pool has taken the request; else the status that says why it has not: 429 when as
  // many wait as may, 503 after stop().
  int post(HttpRequest&& request, std::shared_ptr<Exchange> exchange);
  // Takes no more, refuses those that wait, and tells those that run that nobody wants the answer.
  void stop();

 private:
  struct Call {
    HttpRequest request;
    std::shared_ptr<Exchange> exchange;
  };
  void work(std::shared_ptr<Exchange>& running);
  void run(Call call) noexcept;
  void refuse(Exchange& exchange, int status, std::string_view reason,
              std::string_view cause = {}) noexcept;

  HttpHandler& handler_;
  const std::size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Call> waiting_;
  std::vector<std::shared_ptr<Exchange>> running_;  // one for each thread, or null
  bool is_stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace anemone::serve
