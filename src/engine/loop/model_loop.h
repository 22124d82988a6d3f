// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/loop/embed_loop.h"
#include "engine/loop/label_loop.h"
#include "engine/loop/request.h"
#include "engine/loop/sequence_pool.h"
#include "engine/session/step_runner.h"
#include "engine/speculation/speculator.h"

namespace anemone::engine {

// Runs the texts of one model, step by step. Used by the engine thread alone.
class ModelLoop {
 public:
  // The pool outlives the loop, and so does the observer, which may be null: it is told of the
  // steps of texts, and not of labels nor embeddings.
  ModelLoop(std::shared_ptr<const Model> model, SequencePool& pool,
            const SpeculationOptions& speculation, StepObserver* observer = nullptr);

  const Model& model() const { return *model_; }
  // After an exception the choice or the request is as it was.
  void add(std::shared_ptr<RequestTicket> ticket, Choice&& choice);
  void add(std::shared_ptr<RequestTicket> ticket, LabelRequest&& request);
  void add(std::shared_ptr<RequestTicket> ticket, EmbedRequest&& request);
  // Texts that have not ended, and the memory of their caches.
  std::size_t texts() const { return texts_.size() + labels_.texts() + embeds_.texts(); }
  std::uint64_t bytes() const;
  // Bytes that their caches may grow to: the sum of reserved_bytes() of each, and a context for
  // each request for embeddings.
  std::uint64_t reserved() const;

  // One step of all texts that decode, and a chunk of one prompt or of several short ones; or a
  // window of one text that gets labels, or a step of one request for embeddings. `others_bytes` is
  // the memory of the caches of other models' texts. `meanwhile` is called again and again while a
  // long chunk is read: it may call turn_meanwhile(), of other models, too. False when there was
  // nothing to do: all texts are paused.
  bool turn(std::uint64_t others_bytes, const std::function<void()>& meanwhile);
  // A step of the texts that decode, and short prompts, in the middle of a turn().
  bool turn_meanwhile(std::uint64_t others_bytes);

 private:
  using Clock = std::chrono::steady_clock;
  struct Text {
    std::shared_ptr<RequestTicket> ticket;
    Choice choice;
    std::unique_ptr<Generation> generation;  // null: it has not begun
    std::unique_ptr<Sequence> sequence;
    std::vector<std::int32_t> ids;  // the prompt and what was made; the sequence has the first ones
    std::int64_t reused = 0;        // tokens of the prompt that were in the sequence
    std::int64_t decode_steps = 0;
    std::unique_ptr<Speculation> speculation;  // null: nothing proposes, or no more
    // Where it proposed tokens: the last one of `ids` and those, while they are in a step.
    std::vector<std::int32_t> verified;
    std::int64_t proposed = 0;
    std::int64_t accepted = 0;
    Clock::time_point start;
    Clock::time_point first;      // prediction
    bool has_prediction = false;  // one, at least
    bool is_solo = false;         // it never shares a step again, as one that it shared failed
    bool is_in_step = false;      // a step that is not over
    bool has_ended = false;

    std::span<const std::int32_t> rest() const {
      return std::span(ids).subspan(sequence->tokens().size());
    }
    bool wants_prompt_logits() const {
      return !has_prediction && static_cast<bool>(choice.options.on_prompt_logits);
    }
    bool is_paused() const { return choice.options.is_paused && choice.options.is_paused(); }
  };
  // A runner, and what its next step takes. The lists have room for all that comes, so that a step
  // takes no memory.
  struct Steps {
    Steps(std::shared_ptr<const Model> model, StepObserver* observer)
        : runner(std::move(model), observer) {}
    void reserve(std::size_t count) {
      items.reserve(count);
      texts.reserve(count);
    }
    // The tokens that the text has to run.
    void add(Text& text, std::int64_t max_tokens = StepItem::kMaxTokens);

    StepRunner runner;
    std::vector<StepItem> items;
    std::vector<Text*> texts;  // of the items
    double seconds = 0;        // that the last step took; 0: it failed
    std::int64_t tokens = 0;   // that it has run
  };

  // Ends texts that are cancelled, and begins those that can.
  void begin_and_end(std::uint64_t others_bytes);
  // Makes a text ready to run, unless it waits for the prompt of another text that begins like its
  // own.
  Status begin(Text& text, std::uint64_t others_bytes);
  // How many of the first tokens of a prompt a sequence is going to have that reads another one.
  std::int64_t coming(std::span<const std::int32_t> prompt, const Text& other) const;
  // Whether it has one token to run, in a step with others or alone.
  bool is_decoding(Text& text, bool is_solo) const;
  bool decode();
  // Adds proposed tokens to a step of texts that decode, runs it and takes what it gave.
  bool run_speculating();
  void propose(Text& text, StepItem& item);
  // Proposed tokens of a text at most: all of them have to fit where the text does.
  std::int64_t most_proposed(const Text& text) const;
  // Whether it has more than one token to run, or all that it has for their logits.
  bool is_reading(Text& text) const;
  // Whether the rest of its prompt is so short that it can be read with others.
  bool is_short(const Text& text) const;
  Text* next_prompt();
  bool read_prompts(const std::function<void()>& meanwhile);
  bool read_short_prompts();
  // Adds prompts that can be read together, as long as they have this many tokens at most in all.
  void add_short_prompts(Steps& steps, std::int64_t max_tokens);
  // Runs a step of prompts, if there are any.
  bool read(Steps& steps, const std::function<void()>* meanwhile);
  // Runs the step, which has something to run, and takes what it gave.
  void run(Steps& steps, const std::function<void()>* meanwhile = nullptr);
  // What a step gave for one text.
  void take(Text& text, Status status, bool was_shared);
  // Goes on with the prediction after the last token of the text.
  Status accept(Text& text);
  // Goes on with the predictions after the tokens that were verified, as long as they are those
  // that the text goes on with, and drops the others.
  Status accept_verified(Text& text);
  // Takes the prediction after the last token of the text.
  Status pick(Text& text, const Prediction& prediction);
  void end(Text& text, Result<GenerateResult> result);
  void finish(Text& text);
  void remove_ended();

  const std::shared_ptr<const Model> model_;
  SequencePool& pool_;
  StepObserver* const observer_;
  Steps steps_;
  Steps chunks_;  // of prompts, while the others are run in their middle
  Speculator speculator_;
  std::vector<std::unique_ptr<Text>> texts_;  // in the order in which they came
  bool was_oldest_ = true;                    // whether the last chunk was one of the oldest prompt
  LabelLoop labels_;
  EmbedLoop embeds_;
};

}  // namespace anemone::engine
