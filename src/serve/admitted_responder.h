// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "serve/http/message.h"

namespace anemone::serve {

// Passes everything on, and gives the admission of its request up right before the answer ends, so
// that a client which has read its answer may ask again, or with the last reference.
class AdmittedResponder : public Responder {
 public:
  AdmittedResponder(std::shared_ptr<Responder> inner, std::shared_ptr<void> admission)
      : inner_(std::move(inner)), admission_(std::move(admission)) {}

  bool hold(std::size_t bytes) override { return inner_->hold(bytes); }
  void respond(HttpResponse response) override {
    admission_.reset();
    inner_->respond(std::move(response));
  }
  void begin_stream(HttpResponse head) override { inner_->begin_stream(std::move(head)); }
  bool write(std::string piece) override { return inner_->write(std::move(piece)); }
  bool is_backed_up() const override { return inner_->is_backed_up(); }
  void end(std::string last_piece) override {
    admission_.reset();
    inner_->end(std::move(last_piece));
  }
  void on_disconnect(std::function<void()> callback) override {
    inner_->on_disconnect(std::move(callback));
  }
  const std::atomic<bool>& is_cancelled() const override { return inner_->is_cancelled(); }
  void note(AnswerNotes notes) override { inner_->note(std::move(notes)); }

 private:
  const std::shared_ptr<Responder> inner_;
  std::shared_ptr<void> admission_;
};

}  // namespace anemone::serve
