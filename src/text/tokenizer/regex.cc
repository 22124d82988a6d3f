// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <algorithm>
#include <chrono>
#include <pcre2.h>

#include "base/error.h"
#include "text/tokenizer/onig_pattern.h"
#include "text/utf8.h"

namespace anemone::text {
namespace {

// Most backtracking steps of a match at one place: PCRE2 counts anew at each. Real patterns need
// about one step per character.
constexpr std::size_t kMatchLimit = 2'000'000;
constexpr std::size_t kMatchLimitPerByte = 4;
// Heap of PCRE2's interpreter, which runs when a match outgrows the JIT's stack.
constexpr std::uint32_t kHeapLimitKib = 256 * 1024;
// Bytes that a search for the beginning of a match goes before the clock is read. The step grows
// while the places pass fast and starts anew where they are slow.
constexpr std::size_t kLargeStep = 1024;
constexpr std::size_t kSmallStep = 16;
constexpr std::size_t kSlowNanoseconds = 1'000'000;
// Calls between two readings of the clock: reading it takes about as long as finding a word.
constexpr int kCallsPerLook = 4;

struct MatchData {
  pcre2_match_data* data;
  pcre2_match_context* context;
  MatchData()
      : data(pcre2_match_data_create(1, nullptr)), context(pcre2_match_context_create(nullptr)) {
    if (context != nullptr) pcre2_set_heap_limit(context, kHeapLimitKib);
  }
  MatchData(const MatchData&) = delete;
  MatchData& operator=(const MatchData&) = delete;
  ~MatchData() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
  }
};

// The match data of this thread, shared by all patterns: they only need the place of the whole
// match.
MatchData& match_data() {
  thread_local MatchData data;
  return data;
}

// Spends the time that calls take.
class Stopwatch {
 public:
  explicit Stopwatch(WorkBudget& work) : work_(work) {}
  // Counts a call of PCRE2 and spends its time. `is_last`: no other call follows.
  Status add_call(bool is_last) {
    if (++calls_ < kCallsPerLook && !is_last) return ok_status();
    calls_ = 0;
    const auto now = std::chrono::steady_clock::now();
    last_ = static_cast<std::size_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now - start_).count());
    start_ = now;
    return work_.spend(last_);
  }
  bool is_slow() const { return last_ > kSlowNanoseconds; }

 private:
  WorkBudget& work_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::size_t last_ = 0;
  int calls_ = 0;
};

// The next match from `start` on that begins before `limit`: PCRE2's code.
int find_next(const pcre2_code* code, std::string_view text, std::size_t start, std::size_t limit,
              MatchData& match) {
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  pcre2_set_offset_limit(match.context, limit);
  const int rc =
      pcre2_match(code, subject, text.size(), start, PCRE2_NO_UTF_CHECK, match.data, match.context);
  if (rc != PCRE2_ERROR_JIT_STACKLIMIT) return rc;
  // The interpreter keeps its memory, up to the heap limit, in the match data: not in this
  // thread's.
  const MatchData fallback;
  if (fallback.data == nullptr) return PCRE2_ERROR_NOMEMORY;
  const int again = pcre2_match(code, subject, text.size(), start,
                                PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, fallback.data, match.context);
  if (again >= 0)
    std::copy_n(pcre2_get_ovector_pointer(fallback.data), 2, pcre2_get_ovector_pointer(match.data));
  return again;
}

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
  if (context == nullptr) return out_of_memory("[regex {}] cannot allocate", shown_pattern(source));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE where = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_USE_OFFSET_LIMIT, &error, &where, context.get());
  if (code == nullptr)
    return parse_error("[regex {}] expected a valid pattern: {}", shown_pattern(source),
                       pcre_message(error));
  // If there is no JIT (unsupported machine, no executable memory), PCRE2's interpreter matches the
  // same.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return Regex(std::string(source), std::shared_ptr<void>(code, [](void* pointer) {
                 pcre2_code_free(static_cast<pcre2_code*>(pointer));
               }));
}

Status Regex::find_all(std::string_view text, ChargedVector<Match>& matches,
                       WorkBudget& work) const {
  const auto* code = static_cast<const pcre2_code*>(code_.get());
  MatchData& match = match_data();
  if (match.data == nullptr || match.context == nullptr)
    return out_of_memory("[regex {}] cannot allocate", shown_pattern(source_));
  pcre2_set_match_limit(match.context,
                        static_cast<std::uint32_t>(std::min<std::size_t>(
                            kMatchLimit + kMatchLimitPerByte * text.size(), UINT32_MAX)));
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(match.data);
  Stopwatch watch(work);
  std::size_t start = 0;
  std::size_t last_end = std::string_view::npos;
  std::size_t step = kSmallStep;
  while (start <= text.size()) {
    const std::size_t limit = start + step < text.size() ? start + step : text.size();
    const int rc = find_next(code, text, start, limit, match);
    const bool at_end = rc == PCRE2_ERROR_NOMATCH && limit == text.size();
    ANEMONE_RETURN_IF_ERROR(watch.add_call(rc < 0));
    if (at_end) return ok_status();
    if (rc == PCRE2_ERROR_NOMATCH) {
      step = watch.is_slow() ? kSmallStep : std::min(2 * step, kLargeStep);
      start = limit + 1;
      while (start < text.size() && (text[start] & 0xC0) == 0x80) ++start;
      continue;
    }
    if (rc < 0)
      return unsupported("[regex {}] cannot match: {}", shown_pattern(source_), pcre_message(rc));
    step = kSmallStep;
    const std::size_t begin = bounds[0];
    const std::size_t end = bounds[1];
    if (begin > end)
      return unsupported("[regex {}] expected a match to end after it begins",
                         shown_pattern(source_));
    // An empty match right after a match does not count; one elsewhere makes the search step on.
    if (end > begin || begin != last_end) {
      if (matches.is_full()) ANEMONE_RETURN_IF_ERROR(matches.make_room(1));
      matches.push_back({begin, end});
    }
    last_end = end;
    start = end;
    if (begin == end) {
      if (end >= text.size()) break;
      start += static_cast<std::size_t>(decode_code_point(text, end).length);
    }
  }
  return watch.add_call(true);
}

}  // namespace anemone::text
