// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "engine/loop/model_loop.h"
#include "engine/loop/request.h"
#include "engine/loop/sequence_pool.h"
#include "engine/session/step_observer.h"
#include "engine/speculation/speculator.h"

namespace anemone::engine {

struct EngineOptions {
  std::size_t sequences = 1;  // texts that run at a time, of all models together
  std::size_t queue = 64;     // requests that wait
  // For caches, those of ended texts included; 0: default_cache_bytes(). A text whose caches could
  // go beyond it waits until others have ended; one alone always runs.
  std::uint64_t cache_bytes = 0;
  // How texts are decoded faster, if at all (speculator.h). Models whose check_speculation() fails
  // go without.
  SpeculationOptions speculation = {};
  // Told of the steps of texts (step_observer.h); may be null. It outlives the engine.
  StepObserver* observer = nullptr;
};
// A quarter of the memory that this process may use.
std::uint64_t default_cache_bytes();
// How many texts run together at most unless somebody asks for more.
inline constexpr std::size_t kMostDefaultSequences = 16;
// How many sequences of a full context fit into the memory for caches: from 1 to
// kMostDefaultSequences.
std::size_t default_sequences(const Model& model, std::uint64_t cache_bytes);

// Runs the texts of all requests, of one model or of several, together: each turn is one step of
// all texts that decode and a chunk of one prompt (model_loop.h). It has no thread: whoever owns it
// calls turn(), or has an EngineThread do so.
class Engine {
 public:
  explicit Engine(const EngineOptions& options);
  // Calls end().
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // These are thread-safe. kBusy when the queue is full, kCancelled after close(): then nothing of
  // the request is called.
  Status submit(Request request);
  Status submit(LabelRequest request);
  Status submit(EmbedRequest request);
  struct Counts {  // of requests
    std::size_t waiting = 0;
    std::size_t running = 0;
    std::size_t cancelling = 0;  // of them, those that are being cancelled
    std::uint64_t finished = 0;
    std::uint64_t cancelled = 0;  // of them, those that were cancelled
    std::size_t texts = 0;        // that run, after the last turn
    std::size_t max_texts = 0;    // that may run at a time
    // Bytes of the caches of the texts that run, after the last turn, and of all caches at most.
    std::uint64_t cache_bytes = 0;
    std::uint64_t max_cache_bytes = 0;
  };
  Counts counts() const;
  // No more requests; those that wait fail.
  void close();
  // Cancels what runs. The number of requests that nobody had cancelled before.
  std::size_t cancel_all();
  // Whether no request runs or waits, after this time at most. Not on the engine thread.
  bool wait_until_idle(std::chrono::milliseconds time);
  // Drops what is kept of a model beyond its requests: parked sequences and the buffers of steps.
  // Returns when that is done, which is the first turn without a text of the model, or when the
  // engine has ended. Not on the engine thread. A later request of the model is answered as ever.
  void forget(const Model& model);

  // One thread at a time calls these, the engine thread. turn() runs one step of every model and
  // returns whether there was anything to do. wait() returns when there may be, or after
  // interrupt().
  bool turn();
  void wait();
  void interrupt();
  // close() and cancel_all(), and the turns that this takes. Nothing runs or waits afterwards.
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  using Ticket = std::shared_ptr<RequestTicket>;
  using AnyRequest = std::variant<Request, LabelRequest, EmbedRequest>;
  // A request of which some texts, or all, have not begun.
  struct Waiting {
    Ticket ticket;
    AnyRequest request;
  };

  Status enqueue(const CancelFlag& cancel, std::size_t texts, AnyRequest request);
  void end_waiting(bool is_in_turn);  // on the engine thread
  void forget_models();
  static void end(Waiting& waiting, const Status* failure) noexcept;
  void admit();
  void begin_next(Waiting& waiting);
  ModelLoop& loop_of(const std::shared_ptr<const Model>& model);
  void count_ended();
  void turn_meanwhile();
  std::uint64_t running_bytes() const;
  // With the lock.
  std::size_t queued() const;      // requests of which nothing runs
  std::size_t free_slots() const;  // for texts: the next turn begins as many that wait
  std::size_t running_texts() const;
  // Whether the caches of the next text of a request fit beside what runs, however long they get.
  bool fits(const Waiting& waiting) const;

  const EngineOptions options_;
  const std::uint64_t cache_bytes_;
  // Only the engine thread uses these.
  SequencePool pool_;
  std::vector<std::unique_ptr<ModelLoop>> loops_;
  std::size_t next_loop_ = 0;
  Clock::time_point next_meanwhile_;

  mutable std::mutex mutex_;  // of all below
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::list<Waiting> waiting_;
  std::vector<const Model*> forgotten_;  // those that forget() waits for
  std::vector<Ticket> running_;          // with room for those that wait
  std::size_t texts_ = 0;                // that run
  bool waits_for_memory_ = false;        // the first request that waits
  std::uint64_t used_bytes_ = 0;         // of caches, after the last turn
  std::uint64_t finished_ = 0;
  std::uint64_t cancelled_ = 0;
  bool is_closed_ = false;
  bool has_ended_ = false;
  bool is_interrupted_ = false;
};

// Runs one text to its end with the turns of an engine that nobody else turns. `options.cancel`
// ends it.
Result<GenerateResult> generate(Engine& engine, const std::shared_ptr<const Model>& model,
                                std::vector<std::int32_t> prompt, GenerateOptions options);
// The further arguments of classify() and embed().
struct BlockingOptions {
  std::function<void(std::int64_t done, std::int64_t total)> on_progress;
  const std::atomic<bool>* cancel = nullptr;  // may be null
};
// Labels one text, with the turns of an engine that nobody else turns, and gives the logits
// [tokens, labels].
Result<std::vector<float>> classify(Engine& engine, const std::shared_ptr<const Model>& model,
                                    std::vector<std::int32_t> ids, const BlockingOptions& options);
// Computes the embeddings of texts in the same way.
Result<EmbedRequest::Embeddings> embed(Engine& engine, const std::shared_ptr<const Model>& model,
                                       std::vector<std::vector<std::int32_t>> texts,
                                       Pooling pooling, const BlockingOptions& options);

}  // namespace anemone::engine
