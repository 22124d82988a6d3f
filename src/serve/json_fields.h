// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/json_release.h"
#include "base/work_budget.h"

namespace anemone::serve {

// A request with more members is refused, since each lookup goes through all of them.
inline constexpr std::size_t kMaxFields = 1000;

// Reads the members of a request. A member that is absent or null gives nullopt. The first one that
// is wrong is kept as the status, with its name as the subject, "[top_p] expected a number from 0
// to 1, got 2", and everything after it gives nullopt: a parsing function reads all its fields and
// asks once at the end. Single-thread; the object outlives it.
class JsonFields {
 public:
  // The status is kInvalidArgument from the start when `object` is not an object, or has more than
  // kMaxFields members.
  explicit JsonFields(Json& object);

  std::optional<std::int64_t> integer(std::string_view key, std::int64_t low, std::int64_t high);
  std::optional<double> number(std::string_view key, double low, double high);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::string> string(std::string_view key);
  // A text, or a list of at most `most` texts.
  std::vector<std::string> strings(std::string_view key, std::size_t most);
  // A list of integers of 32 bits.
  std::optional<std::vector<std::int32_t>> ids(std::string_view key);
  // The member itself; nullptr when it is absent or null, or something was wrong before.
  // The caller may move from it if no other code asks for the member.
  Json* member(std::string_view key);

  // The error so far, and a way to add one.
  const Status& status() const { return status_; }
  void fail(Status status);

 private:
  Json& object_;
  Status status_;
};

// The request that `read(fields, out)` makes of the text of a body, whose budget may be null.
template <typename Out, typename Read>
Result<Out> read_body(std::string_view body, WorkBudget* budget, const Read& read) {
  ANEMONE_ASSIGN_OR_RETURN(Json json, parse_json(body, "body", JsonLimits{.budget = budget}));
  const JsonReleaser releaser(json);
  JsonFields fields(json);
  Out out;
  read(fields, out);
  ANEMONE_RETURN_IF_ERROR(fields.status());
  return out;
}

// "a string", "an object", "3.5": what a message says that it got. Long values are named by type.
std::string describe_json(const Json& value);

// The value as a list of token ids; nullopt when it is not a list, or one of its members is not an
// integer of 32 bits.
std::optional<std::vector<std::int32_t>> ids_of(const Json& value);

}  // namespace anemone::serve
