// SPDX-License-Identifier: Apache-2.0
#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <chrono>
#include <pcre2.h>

#include "base/error.h"
#include "text/onig_pattern.h"
#include "text/utf8.h"

namespace anemone::text {
namespace {

// Backtracking steps of one match. Real patterns need about one a character.
constexpr std::uint32_t kMatchLimit = 50'000'000;
// Of one text: a match limit alone would be spent again for each of many matches. Far above what
// any real pattern takes, even on a busy machine.
constexpr std::chrono::seconds kTimeLimit{3};
constexpr std::chrono::microseconds kTimeLimitPerByte{5};
// For the interpreter, which runs when a match outgrows the JIT's stack.
constexpr std::uint32_t kHeapLimitKib = 256 * 1024;

struct MatchData {
  pcre2_match_data* data;
  pcre2_match_context* context;
  explicit MatchData(const pcre2_code* code)
      : data(pcre2_match_data_create_from_pattern(code, nullptr)),
        context(pcre2_match_context_create(nullptr)) {
    if (context == nullptr) return;
    pcre2_set_match_limit(context, kMatchLimit);
    pcre2_set_heap_limit(context, kHeapLimitKib);
  }
  MatchData(const MatchData&) = delete;
  MatchData& operator=(const MatchData&) = delete;
  ~MatchData() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
  }
};

std::string pcre_message(int code) {
  PCRE2_UCHAR buffer[256] = {};
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

}  // namespace

Result<Regex> Regex::compile(std::string_view source) {
  if (!is_valid_utf8(source)) return parse_error("[regex] expected valid UTF-8");
  ANEMONE_ASSIGN_OR_RETURN(const std::string translated, translate_oniguruma(source));
  std::unique_ptr<pcre2_compile_context, void (*)(pcre2_compile_context*)> context(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  if (context == nullptr) return out_of_memory("[regex {}] cannot allocate", source);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE where = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP, &error, &where, context.get());
  if (code == nullptr)
    return parse_error("[regex {}] expected a valid pattern: {}", source, pcre_message(error));
  // Without JIT (unsupported machine, no executable memory) the interpreter matches the same.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return Regex(std::string(source), std::shared_ptr<void>(code, [](void* pointer) {
                 pcre2_code_free(static_cast<pcre2_code*>(pointer));
               }));
}

Status Regex::find_all(std::string_view text, std::vector<Match>& matches) const {
  const auto* code = static_cast<const pcre2_code*>(code_.get());
  const MatchData match(code);
  if (match.data == nullptr || match.context == nullptr)
    return out_of_memory("[regex {}] cannot allocate", source_);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(match.data);
  const auto deadline = std::chrono::steady_clock::now() + kTimeLimit +
                        kTimeLimitPerByte * static_cast<std::int64_t>(text.size());
  std::size_t start = 0;
  std::size_t last_end = std::string_view::npos;
  while (start <= text.size()) {
    int rc = pcre2_match(code, subject, text.size(), start, PCRE2_NO_UTF_CHECK, match.data,
                         match.context);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
      rc = pcre2_match(code, subject, text.size(), start, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                       match.data, match.context);
    if (rc == PCRE2_ERROR_NOMATCH) break;
    if (rc < 0) return unsupported("[regex {}] cannot match: {}", source_, pcre_message(rc));
    const std::size_t begin = bounds[0];
    const std::size_t end = bounds[1];
    if (begin > end)
      return unsupported("[regex {}] expected a match to end after it begins", source_);
    // An empty match right after a match does not count; one elsewhere makes the search step on.
    if (end > begin || begin != last_end) matches.push_back({begin, end});
    // Not after each match: asking for the time takes about as long as finding a word.
    if (matches.size() % 4 == 3 && std::chrono::steady_clock::now() > deadline)
      return unsupported("[regex {}] expected less backtracking, got {} of {} bytes in {} s",
                         source_, end, text.size(), kTimeLimit.count());
    last_end = end;
    start = end;
    if (begin == end) {
      if (end >= text.size()) break;
      start += static_cast<std::size_t>(decode_code_point(text, end).length);
    }
  }
  return ok_status();
}

}  // namespace anemone::text
