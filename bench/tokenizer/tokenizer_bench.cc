// SPDX-License-Identifier: Apache-2.0
// How fast real tokenizers load and encode on one thread. Each is checked first: its goldens, and
// that the ids of the texts decode back to them.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "text/tokenizer/tokenizer.h"

namespace anemone::text {
namespace {

constexpr const char* kTokenizers[] = {"qwen2_5", "llama3_2", "gpt4o", "llama2"};
constexpr int kLoads = 9;
constexpr int kPasses = 5;
// What one call encodes: about a long chat message. Cut at line ends.
constexpr std::size_t kDocumentBytes = 16 << 10;

struct Corpus {
  std::string name;
  std::string text;
  std::vector<std::string_view> documents;  // of `text`
};

// Seconds of processor time: all work is on one thread, and what else the machine does counts less.
template <typename Work>
double time_of(const Work& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "bench_tokenizer: %s\n", message.c_str());
  std::exit(1);
}

template <typename T>
T take(Result<T> result) {
  if (!result.ok()) fail(result.status().message());
  return std::move(result).value();
}

std::unique_ptr<Corpus> read_corpus(const std::string& path) {
  auto corpus = std::make_unique<Corpus>();
  corpus->name = path.substr(path.find_last_of('/') + 1);
  corpus->text = take(read_file(path));
  const std::string_view text = corpus->text;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t line = text.find('\n', std::min(begin + kDocumentBytes, text.size()));
    const std::size_t end = line == text.npos ? text.size() : line + 1;
    corpus->documents.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return corpus;
}

void check_goldens(const Tokenizer& tokenizer, const std::string& folder) {
  std::ifstream lines(folder + "/golden.jsonl");
  int cases = 0;
  for (std::string line; std::getline(lines, line); ++cases) {
    const Json golden = take(parse_json(line, folder + "/golden.jsonl"));
    const EncodeOptions options{golden.at("add_special").get<bool>(),
                                golden.at("parse_special").get<bool>()};
    const auto ids = take(tokenizer.encode(golden.at("text").get<std::string>(), options));
    if (ids != golden.at("ids").get<std::vector<std::int32_t>>())
      fail(folder + ": a golden differs: " + line);
  }
  if (cases == 0) fail(folder + ": no goldens");
}

// A normalizer may change a text once; the ids of what comes out must then be the same.
void check_round_trip(const Tokenizer& tokenizer, const Corpus& corpus) {
  for (const std::string_view document : corpus.documents) {
    const auto ids = take(tokenizer.encode(document, {false, false}));
    const std::string decoded = take(tokenizer.decode(ids));
    if (decoded != document && take(tokenizer.encode(decoded, {false, false})) != ids)
      fail(corpus.name + ": ids do not decode to the text: " + std::string(document.substr(0, 80)));
  }
}

std::size_t encode_all(const Tokenizer& tokenizer, const Corpus& corpus) {
  std::size_t ids = 0;
  for (const std::string_view document : corpus.documents)
    ids += take(tokenizer.encode(document, {false, false})).size();
  return ids;
}

void run(const std::string& folder, const std::vector<std::unique_ptr<Corpus>>& corpora) {
  std::vector<double> loads;
  for (int i = 0; i < kLoads; ++i) {
    std::shared_ptr<const Tokenizer> loaded;
    loads.push_back(time_of([&] { loaded = take(Tokenizer::load(folder)); }));
  }
  std::sort(loads.begin(), loads.end());
  const std::string name = folder.substr(folder.find_last_of('/') + 1);
  std::printf("%-9s load %6.1f ms (best %.1f)\n", name.c_str(), loads[kLoads / 2] * 1e3,
              loads.front() * 1e3);
  const auto checked = take(Tokenizer::load(folder));
  check_goldens(*checked, folder);
  for (const auto& corpus : corpora) {
    check_round_trip(*checked, *corpus);
    // A fresh one, so that the first pass finds no memo of words.
    const auto tokenizer = take(Tokenizer::load(folder));
    std::size_t ids = 0;
    std::vector<double> passes;
    for (int i = 0; i < kPasses; ++i)
      passes.push_back(time_of([&] { ids = encode_all(*tokenizer, *corpus); }));
    const double first = passes.front();
    std::sort(passes.begin(), passes.end());
    const double megabytes = static_cast<double>(corpus->text.size()) / 1e6;
    std::printf(
        "%-9s %-12s first pass %5.1f MB/s, median %5.1f, best %5.1f; %.2f bytes per token\n",
        name.c_str(), corpus->name.c_str(), megabytes / first, megabytes / passes[kPasses / 2],
        megabytes / passes.front(), megabytes * 1e6 / static_cast<double>(ids));
  }
}

}  // namespace
}  // namespace anemone::text

int main(int argc, char** argv) {
  using namespace anemone::text;
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench_tokenizer TEXT_FILE...   (bench/tokenizer/README.md)\n");
    return 2;
  }
  std::vector<std::unique_ptr<Corpus>> corpora;
  for (int i = 1; i < argc; ++i) corpora.push_back(read_corpus(argv[i]));
  const char* named = std::getenv("ANEMONE_SHARED");
  const std::string shared =
      named != nullptr && *named != '\0' ? named : ANEMONE_SOURCE_DIR "/../shared";
  for (const char* tokenizer : kTokenizers) run(shared + "/data/tokenizers/" + tokenizer, corpora);
  return 0;
}
