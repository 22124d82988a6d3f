// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "serve/http/message.h"
#include "serve/request_log.h"

namespace anemone::serve {

// Passes everything on, and writes the entry of the log when the answer has ended, or when the
// last reference goes before that.
class LoggedResponder : public Responder {
 public:
  // The log outlives the responder. The time of the entry counts from here.
  LoggedResponder(std::shared_ptr<Responder> inner, const RequestLog& log, LogEntry entry)
      : inner_(std::move(inner)), log_(log), entry_(std::move(entry)) {}
  ~LoggedResponder() override { finish(LogEntry::kClientLeft); }

  bool hold(std::size_t bytes) override { return inner_->hold(bytes); }
  void respond(HttpResponse response) override {
    const int status = response.status;
    entry_.error_code = response.error_code;
    entry_.error_param = response.error_param;
    inner_->respond(std::move(response));
    finish(status);
  }
  void begin_stream(HttpResponse head) override {
    stream_status_ = head.status;
    inner_->begin_stream(std::move(head));
  }
  bool write(std::string piece) override { return inner_->write(std::move(piece)); }
  bool is_backed_up() const override { return inner_->is_backed_up(); }
  void end(std::string last_piece) override {
    inner_->end(std::move(last_piece));
    finish(stream_status_);
  }
  void on_disconnect(std::function<void()> callback) override {
    inner_->on_disconnect([has_left = has_left_, callback = std::move(callback)] {
      *has_left = true;
      callback();
    });
  }
  const std::atomic<bool>& is_cancelled() const override { return inner_->is_cancelled(); }
  void note(AnswerNotes notes) override { entry_.notes = std::move(notes); }

 private:
  using Clock = std::chrono::steady_clock;

  void finish(int status) {
    if (std::exchange(is_finished_, true)) return;
    entry_.status = *has_left_ ? LogEntry::kClientLeft : status;
    entry_.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    log_.write(entry_);
  }

  const std::shared_ptr<Responder> inner_;
  const RequestLog& log_;
  LogEntry entry_;
  const Clock::time_point start_ = Clock::now();
  // Shared with the callback, which may be called when this is gone.
  const std::shared_ptr<std::atomic<bool>> has_left_ = std::make_shared<std::atomic<bool>>(false);
  int stream_status_ = 200;
  bool is_finished_ = false;
};

}  // namespace anemone::serve
