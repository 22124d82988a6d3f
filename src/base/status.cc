// SPDX-License-Identifier: Apache-2.0
#include <anemone/status.h>

namespace anemone {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kCheckFailed:
      return "check_failed";
    case Code::kInvalidArgument:
      return "invalid_argument";
    case Code::kParseError:
      return "parse_error";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kNotFound:
      return "not_found";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kVersionMismatch:
      return "version_mismatch";
    case Code::kOutOfMemory:
      return "out_of_memory";
    case Code::kIo:
      return "io";
    case Code::kBusy:
      return "busy";
    case Code::kCancelled:
      return "cancelled";
    case Code::kDevice:
      return "device";
    case Code::kInternal:
      return "internal";
  }
  return "internal";
}

int exit_code(Code code) {
  switch (code) {
    case Code::kOk:
      return 0;
    case Code::kCheckFailed:
    case Code::kCancelled:
      return 1;
    case Code::kInvalidArgument:
      return 2;
    case Code::kParseError:
    case Code::kNotFound:
    case Code::kCorrupt:
    case Code::kVersionMismatch:
      return 3;
    case Code::kUnsupported:
      return 4;
    case Code::kIo:
      return 5;
    case Code::kOutOfMemory:
    case Code::kBusy:
      return 6;
    case Code::kDevice:
      return 7;
    case Code::kInternal:
      return 70;
  }
  return 70;
}

Status::Status(Code code, std::string message) : payload_(new Payload{code, std::move(message)}) {}

const Status::Payload* Status::copy_of(const Payload& payload) {
  return new Payload(payload);
}

void Status::destroy(const Payload* payload) {
  delete payload;
}

const std::string& Status::message() const {
  static const std::string empty;
  return payload_ ? payload_->message : empty;
}

Status Status::with(std::string_view frame) const {
  if (ok()) return *this;
  std::string text = message();
  text.append(" (").append(frame).append(")");
  return Status(code(), std::move(text));
}

}  // namespace anemone
