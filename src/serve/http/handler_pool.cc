// SPDX-License-Identifier: Apache-2.0
#include "serve/http/handler_pool.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "base/log.h"

namespace anemone::serve {
namespace {

constexpr std::string_view kStopping = "[server] is stopping";

}  // namespace

HandlerPool::HandlerPool(HttpHandler& handler, int threads, std::size_t max_waiting)
    : handler_(handler), max_waiting_(max_waiting), running_(static_cast<std::size_t>(threads)) {
  for (std::shared_ptr<Exchange>& running : running_)
    threads_.emplace_back([this, &running] { work(running); });
}

HandlerPool::~HandlerPool() {
  stop();
  for (std::thread& thread : threads_) thread.join();
}

int HandlerPool::post(HttpRequest&& request, std::shared_ptr<Exchange> exchange) {
  {
    const std::lock_guard lock(mutex_);
    if (is_stopped_) return 503;
    // A thread that is free takes a call at once, so that does not count as waiting.
    const auto free = static_cast<std::size_t>(std::ranges::count(running_, nullptr));
    if (waiting_.size() >= max_waiting_ + free) return 429;
    waiting_.push_back({std::move(request), std::move(exchange)});
  }
  wake_.notify_one();
  return 0;
}

void HandlerPool::stop() {
  std::deque<Call> dropped;
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    dropped.swap(waiting_);
    for (const std::shared_ptr<Exchange>& running : running_)
      if (running != nullptr) running->cancel();
  }
  wake_.notify_all();
  for (const Call& call : dropped) refuse(*call.exchange, 503, kStopping);
}

void HandlerPool::work(std::shared_ptr<Exchange>& running) {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return is_stopped_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Call call = std::move(waiting_.front());
    waiting_.pop_front();
    running = call.exchange;
    lock.unlock();
    run(std::move(call));
    lock.lock();
    std::shared_ptr<Exchange> done = std::move(running);
    lock.unlock();
    done.reset();  // which may have work of its own
    lock.lock();
  }
}

void HandlerPool::run(Call call) noexcept {
  Exchange& exchange = *call.exchange;
  // Its client may have gone while it waited, or the server begun to stop.
  if (exchange.is_cancelled()) return refuse(exchange, 503, kStopping);
  constexpr std::string_view kFailed = "[server] failed on this request";
  try {
    handler_.handle(std::move(call.request), call.exchange);
  } catch (const std::bad_alloc&) {
    refuse(exchange, 503, "[request] there is not enough memory to answer it");
  } catch (const std::exception& error) {
    refuse(exchange, 500, kFailed, error.what());
  } catch (...) {
    refuse(exchange, 500, kFailed);
  }
}

void HandlerPool::refuse(Exchange& exchange, int status, std::string_view reason,
                         std::string_view cause) noexcept {
  try {
    if (!cause.empty()) ANEMONE_WARN("a request failed: {}", cause);
    exchange.respond(handler_.refuse(status, reason));
  } catch (const std::exception&) {
    // The connection closes without an answer.
  }
}

}  // namespace anemone::serve
