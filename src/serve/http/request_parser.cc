// SPDX-License-Identifier: Apache-2.0
// The one source that includes Boost.Beast, which is slow to compile.
#include "serve/http/request_parser.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <optional>
#include <utility>

namespace anemone::serve {
namespace {

namespace http = boost::beast::http;
using BeastError = boost::beast::error_code;
using BeastText = boost::beast::string_view;

std::string to_text(BeastText text) {
  return {text.data(), text.size()};
}

// Beast takes "29, 29" as well.
bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace

class RequestParser::Impl : public http::basic_parser<true> {
 public:
  explicit Impl(const RequestLimits& limits) : limits_(limits) {
    header_limit(limits.header_bytes);
    body_limit(limits.body_bytes);
  }

  State state = State::kNeedsMore;
  int error_status = 400;
  std::string error;
  HttpRequest request;
  bool was_header_seen = false;

  void fail(int status, std::string text) {
    state = State::kFailed;
    error_status = status;
    error = std::move(text);
  }

 private:
  void on_request_impl(http::verb /*method*/, BeastText method, BeastText target, int version,
                       BeastError& /*ec*/) override {
    request.method = to_text(method);
    request.target = to_text(target);
    request.version = version;
  }
  void on_response_impl(int /*code*/, BeastText /*reason*/, int /*version*/,
                        BeastError& /*ec*/) override {}
  void on_field_impl(http::field field, BeastText name, BeastText value, BeastError& ec) override {
    if (has_header_) return;  // a trailer
    // Beast looks at what it has not taken yet, so fields that come one by one pass its limit.
    header_size_ += name.size() + value.size() + 4;
    if (request.headers.size() >= limits_.header_fields || header_size_ > limits_.header_bytes)
      ec = http::error::header_limit;
    else if (field == http::field::content_length &&
             (std::exchange(has_length_, true) || !is_number(to_text(value))))
      ec = http::error::bad_content_length;
    else if (field == http::field::host && std::exchange(has_host_, true))
      ec = http::error::bad_field;
    else if (field == http::field::transfer_encoding &&
             (std::exchange(has_coding_, true) || !equal_ignoring_case(to_text(value), "chunked")))
      ec = http::error::bad_transfer_encoding;
    else
      request.headers.emplace_back(to_text(name), to_text(value));
  }
  void on_header_impl(BeastError& ec) override {
    has_header_ = true;
    request.keep_alive = keep_alive();
    if (request.version >= 11 && !has_host_) ec = http::error::bad_field;
    // HTTP/1.0 has none: a proxy of that version would take the body for the next request.
    if (request.version < 11 && has_coding_) ec = http::error::bad_transfer_encoding;
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/,
                         BeastError& /*ec*/) override {}
  std::size_t on_body_impl(BeastText body, BeastError& /*ec*/) override {
    request.body.append(body.data(), body.size());
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t /*size*/, BeastText /*extensions*/,
                            BeastError& /*ec*/) override {}
  std::size_t on_chunk_body_impl(std::uint64_t /*remain*/, BeastText body,
                                 BeastError& /*ec*/) override {
    request.body.append(body.data(), body.size());
    return body.size();
  }
  void on_finish_impl(BeastError& /*ec*/) override { state = State::kDone; }

  RequestLimits limits_;
  std::size_t header_size_ = 0;
  bool has_length_ = false;
  bool has_coding_ = false;
  bool has_host_ = false;
  bool has_header_ = false;
};

RequestParser::RequestParser(const RequestLimits& limits)
    : limits_(limits), impl_(std::make_unique<Impl>(limits)) {}
RequestParser::~RequestParser() = default;

std::size_t RequestParser::put(std::string_view bytes) {
  std::size_t used = 0;
  // An empty line before a request is left over from the one before (RFC 9112, 2.2).
  while (!impl_->got_some() && bytes.substr(used).starts_with("\r\n")) used += 2;
  // A chunked body comes out one piece per call.
  while (impl_->state == State::kNeedsMore && used < bytes.size()) {
    const std::string_view rest = bytes.substr(used);
    BeastError ec;
    const std::size_t count = impl_->put(boost::asio::buffer(rest.data(), rest.size()), ec);
    used += count;
    if (!ec && !std::exchange(impl_->was_header_seen, impl_->is_header_done()) &&
        impl_->was_header_seen) {
      impl_->state = State::kHeader;
      return used;
    }
    if (ec == http::error::need_more) break;
    if (ec == http::error::body_limit)
      impl_->fail(413, "[body] expected at most " + std::to_string(limits_.body_bytes) + " bytes");
    else if (ec == http::error::header_limit)
      impl_->fail(431, "[header] expected at most " + std::to_string(limits_.header_bytes) +
                           " bytes in " + std::to_string(limits_.header_fields) + " fields");
    else if (ec)
      impl_->fail(400, "[request] expected HTTP/1.1: " + ec.message());
    else if (count == 0)
      break;
  }
  // This bounds, for example, a chunk header without a line end.
  if (impl_->state == State::kNeedsMore && bytes.size() - used > limits_.header_bytes)
    impl_->fail(400, "[request] expected lines of at most " + std::to_string(limits_.header_bytes) +
                         " bytes");
  return used;
}

RequestParser::State RequestParser::state() const {
  return impl_->state;
}
bool RequestParser::has_started() const {
  return impl_->got_some();
}
HttpRequest& RequestParser::head() {
  return impl_->request;
}
bool RequestParser::has_body() const {
  return !impl_->is_done();
}
bool RequestParser::wants_continue() const {
  if (!has_body() || impl_->request.version < 11) return false;
  const std::string* expect = impl_->request.header("Expect");
  return expect != nullptr && equal_ignoring_case(*expect, "100-continue");
}
void RequestParser::read_body() {
  impl_->state = has_body() ? State::kNeedsMore : State::kDone;
}
std::size_t RequestParser::body_bytes() const {
  return impl_->request.body.size();
}

HttpRequest RequestParser::take() {
  HttpRequest request = std::move(impl_->request);
  impl_ = std::make_unique<Impl>(limits_);
  return request;
}

int RequestParser::error_status() const {
  return impl_->error_status;
}
const std::string& RequestParser::error() const {
  return impl_->error;
}

}  // namespace anemone::serve
