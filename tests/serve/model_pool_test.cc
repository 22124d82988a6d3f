// SPDX-License-Identifier: Apache-2.0
// Which models are loaded and unloaded, and when: the pool alone, over a provider that loads when
// it is told to, and a clock that stands.
#include "serve/model_pool.h"

#include <future>
#include <gtest/gtest.h>

#include "serve/request_log.h"
#include "tests/engine/scripted_model.h"
#include "tests/serve/held_models.h"

namespace anemone::serve {
namespace {

using namespace std::chrono_literals;
using testing::HeldModels;
using testing::kLongWait;

// A request that waits for a lease.
class Asker {
 public:
  Asker(ModelPool& pool, std::size_t model) : pool_(pool) {
    status_ = pool.lease_later(model, cancel_, [promise = promise_](Result<ModelLease> lease) {
      promise->set_value(std::move(lease));
    });
  }
  const Status& status() const { return status_; }
  bool has_ended(std::chrono::milliseconds time = 0ms) {
    return future_.wait_for(time) == std::future_status::ready;
  }
  // The code of what it got, whose lease it holds from then on.
  Code end() {
    if (!has_ended(kLongWait)) return Code::kInternal;
    auto result = future_.get();
    if (!result.ok()) {
      reason_ = result.status().message();
      return result.status().code();
    }
    lease_ = *std::move(result);
    return Code::kOk;
  }
  void cancel() {
    *cancel_ = true;
    pool_.look_again();
  }
  void give_back() { lease_.reset(); }
  const ModelLease& lease() const { return lease_; }
  const std::string& reason() const { return reason_; }

 private:
  ModelPool& pool_;
  const std::shared_ptr<std::atomic<bool>> cancel_ = std::make_shared<std::atomic<bool>>(false);
  const std::shared_ptr<std::promise<Result<ModelLease>>> promise_ =
      std::make_shared<std::promise<Result<ModelLease>>>();
  std::future<Result<ModelLease>> future_ = promise_->get_future();
  Status status_;
  ModelLease lease_;
  std::string reason_;
};

class PoolOfThree : public ::testing::Test {
 protected:
  std::unique_ptr<ModelPool> make(ModelPoolOptions options,
                                  const std::map<std::string, std::uint64_t>& known_bytes = {}) {
    options.now = [this] { return ModelPool::Clock::time_point(now_.load()); };
    auto provider = std::make_unique<HeldModels>();
    provider_ = provider.get();
    for (const auto& [name, bytes] : known_bytes) provider->know_bytes(name, bytes);
    auto pool = ModelPool::create({{"a", "alias"}, {"b"}, {"c"}}, std::move(provider), options);
    EXPECT_TRUE(pool.ok());
    (*pool)->start({[this](const engine::Model&) { ++forgotten_; },
                    [this](const ModelEvent& event) {
                      const std::lock_guard lock(mutex_);
                      events_ += log_line_of(event, LogFormat::kText, 0).substr(25);
                    }});
    return *std::move(pool);
  }
  void pass(ModelPool& pool, std::chrono::seconds time) {
    now_ = now_.load() + std::chrono::duration_cast<ModelPool::Clock::duration>(time);
    pool.look_again();
  }
  bool wait_for_state(const ModelPool& pool, std::size_t model, ModelState state) {
    const auto end = std::chrono::steady_clock::now() + kLongWait;
    while (pool.list()[model].state != state)
      if (std::chrono::steady_clock::now() > end) return false;
    return true;
  }
  std::string events() {
    const std::lock_guard lock(mutex_);
    return events_;
  }

  HeldModels* provider_ = nullptr;  // of the pool that was made last
  std::atomic<ModelPool::Clock::duration> now_ = ModelPool::Clock::duration(1h);
  std::atomic<int> forgotten_ = 0;
  std::mutex mutex_;
  std::string events_;
};

TEST_F(PoolOfThree, KnowsItsNames) {
  const auto pool = make({});
  EXPECT_EQ(*pool->find("alias"), 0U);
  EXPECT_EQ(*pool->find("c"), 2U);
  EXPECT_EQ(pool->find("d").status().code(), Code::kNotFound);
  EXPECT_EQ(pool->find("").status().code(), Code::kInvalidArgument);
  const auto create = [](std::vector<std::vector<std::string>> names) {
    return ModelPool::create(std::move(names), std::make_unique<HeldModels>()).status().code();
  };
  EXPECT_EQ(create({}), Code::kInvalidArgument);
  EXPECT_EQ(create({{"a"}, {"b", "a"}}), Code::kInvalidArgument);
}

TEST_F(PoolOfThree, LoadsTheFirstModelsAtTheStart) {
  auto provider = std::make_unique<HeldModels>();
  HeldModels& models = *provider;
  ModelPoolOptions options;
  options.max_loaded = 2;
  const auto pool = *ModelPool::create({{"a"}, {"b"}, {"c"}}, std::move(provider), options);
  ASSERT_TRUE(pool->load_first().ok());
  EXPECT_EQ(models.live(), 2);
  EXPECT_EQ(pool->list()[1].state, ModelState::kLoaded);
  EXPECT_EQ(pool->list()[2].state, ModelState::kUnloaded);
  EXPECT_NE(pool->try_lease(0), nullptr);
  EXPECT_EQ(pool->try_lease(2), nullptr);

  auto failing = std::make_unique<HeldModels>();
  failing->fail("b", io_error("[/models/b] cannot open"));
  const auto other = *ModelPool::create({{"a"}, {"b"}}, std::move(failing));
  EXPECT_EQ(other->load_first().message(), "[/models/b] cannot open");
}

TEST_F(PoolOfThree, RequestsShareALoadAndLoadsComeOneAfterTheOther) {
  const auto pool = make({});
  EXPECT_EQ(pool->try_lease(0), nullptr);
  provider_->hold();
  Asker first(*pool, 0);
  ASSERT_TRUE(provider_->wait_for_load("a"));
  Asker second(*pool, 0), other(*pool, 1);
  EXPECT_EQ(pool->list()[0].state, ModelState::kLoading);
  EXPECT_EQ(pool->list()[1].state, ModelState::kUnloaded);
  EXPECT_EQ(pool->waiting(), 3U);
  EXPECT_FALSE(first.has_ended());
  provider_->let_go();
  EXPECT_EQ(first.end(), Code::kOk);
  EXPECT_EQ(second.end(), Code::kOk);
  EXPECT_EQ(other.end(), Code::kOk);
  EXPECT_EQ(first.lease()->model, second.lease()->model);
  EXPECT_EQ(first.lease()->names.front(), "a");
  EXPECT_EQ(provider_->loads(), "ab");
  EXPECT_EQ(provider_->most_at_a_time(), 1);
  EXPECT_NE(pool->try_lease(0), nullptr);
}

TEST_F(PoolOfThree, TheModelThatWasNotUsedForLongestMakesRoom) {
  const auto pool = make({.max_loaded = 2});
  for (const std::size_t model : {0UL, 1UL}) {
    Asker asker(*pool, model);
    ASSERT_EQ(asker.end(), Code::kOk);
    pass(*pool, 1s);
  }
  pass(*pool, 1s);
  EXPECT_NE(pool->try_lease(0), nullptr) << "and is given back at once";
  // A look is no use.
  EXPECT_NE(pool->peek(1), nullptr);
  Asker third(*pool, 2);
  ASSERT_EQ(third.end(), Code::kOk);
  EXPECT_EQ(pool->list()[0].state, ModelState::kLoaded);
  EXPECT_EQ(pool->list()[1].state, ModelState::kUnloaded);
  EXPECT_EQ(provider_->live(), 2);
  EXPECT_EQ(forgotten_, 1);
  EXPECT_NE(events().find("unloaded b to make room"), std::string::npos) << events();
}

TEST_F(PoolOfThree, TheFilesOfLoadedModelsHaveABoundTogether) {
  // Models of 1000 bytes each, of which the pool knows only once it has loaded them.
  for (const bool is_known : {true, false}) {
    const std::map<std::string, std::uint64_t> sizes = {{"a", 1000}, {"b", 1000}, {"c", 1000}};
    const auto pool =
        make({.max_bytes = 2500}, is_known ? sizes : std::map<std::string, std::uint64_t>());
    for (const std::size_t model : {0UL, 1UL, 2UL}) {
      Asker asker(*pool, model);
      ASSERT_EQ(asker.end(), Code::kOk);
      pass(*pool, 1s);
    }
    EXPECT_TRUE(wait_for_state(*pool, 0, ModelState::kUnloaded)) << is_known;
    EXPECT_EQ(pool->list()[1].state, ModelState::kLoaded);
    EXPECT_EQ(pool->list()[2].state, ModelState::kLoaded);
    // Now the size is known, so one model is unloaded before the other is loaded.
    Asker again(*pool, 0);
    ASSERT_EQ(again.end(), Code::kOk);
    EXPECT_EQ(provider_->live(), 2);
    EXPECT_EQ(pool->list()[1].state, ModelState::kUnloaded);
  }
}

TEST_F(PoolOfThree, AModelThatIsLargerThanTheBoundIsLoadedAlone) {
  const auto pool = make({.max_bytes = 500});
  Asker first(*pool, 0);
  ASSERT_EQ(first.end(), Code::kOk);
  Asker second(*pool, 1);
  EXPECT_FALSE(second.has_ended(20ms)) << "there is no room beside a model in use";
  first.give_back();
  EXPECT_EQ(second.end(), Code::kOk);
  EXPECT_EQ(provider_->live(), 1);
}

TEST_F(PoolOfThree, AtTheStartModelsAreLoadedWhileThereIsRoom) {
  auto provider = std::make_unique<HeldModels>();
  HeldModels& models = *provider;
  for (const char* name : {"a", "b", "c"}) models.know_bytes(name, 1000);
  ModelPoolOptions options;
  options.max_bytes = 2000;
  const auto pool = *ModelPool::create({{"a"}, {"b"}, {"c"}}, std::move(provider), options);
  ASSERT_TRUE(pool->load_first().ok());
  EXPECT_EQ(models.loads(), "ab");
}

TEST_F(PoolOfThree, ARequestGetsRoomThoughOthersComeForTheModelThatIsLoaded) {
  const auto pool = make({.max_loaded = 1});
  Asker running(*pool, 0);
  ASSERT_EQ(running.end(), Code::kOk);
  Asker waits(*pool, 1);
  // From now on the model gives out no leases.
  const auto end = std::chrono::steady_clock::now() + kLongWait;
  while (pool->try_lease(0) != nullptr) ASSERT_LT(std::chrono::steady_clock::now(), end);
  Asker later(*pool, 0);
  EXPECT_FALSE(waits.has_ended(20ms));
  EXPECT_FALSE(later.has_ended());
  running.give_back();
  EXPECT_EQ(waits.end(), Code::kOk);
  EXPECT_FALSE(later.has_ended(20ms));
  waits.give_back();
  EXPECT_EQ(later.end(), Code::kOk);
  EXPECT_EQ(provider_->loads(), "aba");
  EXPECT_EQ(provider_->live(), 1);
}

TEST_F(PoolOfThree, AnIdleModelIsUnloadedAfterItsTime) {
  const auto pool = make({.keep_alive = 300s});
  Asker asker(*pool, 0);
  ASSERT_EQ(asker.end(), Code::kOk);
  pass(*pool, 1000s);
  // It is in use, however long its request takes.
  Asker other(*pool, 1);
  ASSERT_EQ(other.end(), Code::kOk);
  EXPECT_EQ(pool->list()[0].state, ModelState::kLoaded);
  asker.give_back();
  pass(*pool, 299s);
  EXPECT_NE(pool->peek(0), nullptr) << "a look keeps nothing alive";
  EXPECT_EQ(provider_->live(), 2);
  pass(*pool, 1s);
  EXPECT_TRUE(wait_for_state(*pool, 0, ModelState::kUnloaded));
  EXPECT_EQ(provider_->live(), 1);
  EXPECT_NE(events().find("unloaded a after 300 s without a request"), std::string::npos)
      << events();
  Asker again(*pool, 0);
  EXPECT_EQ(again.end(), Code::kOk);
}

TEST_F(PoolOfThree, AModelMayHaveATimeOfItsOwnUntilItIsUnloaded) {
  const auto pool = make({.keep_alive = 300s});
  Asker other(*pool, 1);
  ASSERT_EQ(other.end(), Code::kOk);
  const auto use = [&](std::optional<std::chrono::milliseconds> time) {
    Asker asker(*pool, 0);
    ASSERT_EQ(asker.end(), Code::kOk);
    pool->set_keep_alive(0, time);
  };
  use(10s);
  pass(*pool, 9s);
  EXPECT_NE(pool->peek(0), nullptr);
  pass(*pool, 1s);
  EXPECT_TRUE(wait_for_state(*pool, 0, ModelState::kUnloaded));
  use(0s);
  EXPECT_TRUE(wait_for_state(*pool, 0, ModelState::kUnloaded)) << "right after the request";
  use(std::nullopt);
  pass(*pool, 100'000s);
  EXPECT_NE(pool->peek(0), nullptr);
  // The time lasts for the requests after it, and the model's next load has that of the options.
  Asker later(*pool, 0);
  ASSERT_EQ(later.end(), Code::kOk);
  later.give_back();
  pass(*pool, 100'000s);
  EXPECT_NE(pool->peek(0), nullptr);
  use(0s);
  EXPECT_TRUE(wait_for_state(*pool, 0, ModelState::kUnloaded));
  Asker again(*pool, 0);
  ASSERT_EQ(again.end(), Code::kOk);
  again.give_back();
  pass(*pool, 299s);
  EXPECT_NE(pool->peek(0), nullptr);
  pass(*pool, 1s);
  EXPECT_TRUE(wait_for_state(*pool, 0, ModelState::kUnloaded));
  EXPECT_EQ(pool->list()[1].state, ModelState::kLoaded);
  EXPECT_EQ(provider_->loads(), "baaaa");
}

TEST_F(PoolOfThree, UnloadsOnRequestOnceNobodyHasALease) {
  const auto pool = make({});
  std::promise<bool> unloaded;
  const auto unload = [&](std::promise<bool>& done) {
    pool->unload(0, [&](const Result<ModelLease>& result) { done.set_value(result.ok()); });
  };
  unload(unloaded);
  EXPECT_TRUE(unloaded.get_future().get()) << "it was not loaded";
  Asker running(*pool, 0);
  ASSERT_EQ(running.end(), Code::kOk);
  unloaded = {};
  auto done = unloaded.get_future();
  unload(unloaded);
  EXPECT_EQ(pool->try_lease(0), nullptr);
  Asker later(*pool, 0);
  EXPECT_EQ(done.wait_for(20ms), std::future_status::timeout);
  EXPECT_EQ(provider_->live(), 1);
  running.give_back();
  EXPECT_TRUE(done.get());
  EXPECT_EQ(later.end(), Code::kOk);
  EXPECT_EQ(provider_->loads(), "aa");
  EXPECT_EQ(pool->list()[0].unloads, 1U);
}

// The request came first, so it has the model before it goes.
TEST_F(PoolOfThree, UnloadingWaitsForALoad) {
  const auto pool = make({});
  provider_->hold();
  Asker asker(*pool, 0);
  ASSERT_TRUE(provider_->wait_for_load("a"));
  std::promise<bool> unloaded;
  pool->unload(0, [&](const Result<ModelLease>& result) { unloaded.set_value(result.ok()); });
  provider_->let_go();
  EXPECT_EQ(asker.end(), Code::kOk);
  asker.give_back();
  EXPECT_TRUE(unloaded.get_future().get());
  EXPECT_EQ(provider_->live(), 0);
}

TEST_F(PoolOfThree, AFailedLoadEndsItsRequestsAndTheNextOneTriesAgain) {
  const auto pool = make({});
  provider_->fail("a", io_error("[/srv/models/a.anemone] cannot open \"x/manifest.json\""));
  provider_->hold();
  Asker first(*pool, 0);
  ASSERT_TRUE(provider_->wait_for_load("a"));
  Asker second(*pool, 0), other(*pool, 1);
  provider_->let_go();
  EXPECT_EQ(first.end(), Code::kInternal);
  EXPECT_EQ(second.end(), Code::kInternal);
  EXPECT_EQ(other.end(), Code::kOk);
  EXPECT_EQ(first.reason(), "[model] cannot load a: [a.anemone] cannot open \"manifest.json\"");
  EXPECT_EQ(pool->list()[0].state, ModelState::kFailed);
  EXPECT_EQ(pool->list()[0].error, first.reason());
  EXPECT_NE(events().find("cannot load a: [/srv/models/a.anemone]"), std::string::npos)
      << "whoever runs the server learns where: " << events();
  provider_->fail("a", out_of_memory("[a] there is not enough memory"));
  Asker third(*pool, 0);
  EXPECT_EQ(third.end(), Code::kOutOfMemory);
  provider_->fail("a", Status());
  Asker fourth(*pool, 0);
  EXPECT_EQ(fourth.end(), Code::kOk);
  EXPECT_EQ(pool->list()[0].error, "");
  EXPECT_EQ(pool->list()[0].failed_loads, 2U);
}

TEST_F(PoolOfThree, ARequestThatIsCancelledLeavesTheQueue) {
  const auto pool = make({.queue = 2});
  provider_->hold();
  Asker first(*pool, 0);
  ASSERT_TRUE(provider_->wait_for_load("a"));
  Asker second(*pool, 1);
  Asker refused(*pool, 1);
  EXPECT_EQ(refused.status().code(), Code::kBusy);
  second.cancel();
  EXPECT_EQ(second.end(), Code::kCancelled) << "at once";
  provider_->let_go();
  EXPECT_EQ(first.end(), Code::kOk);
  EXPECT_EQ(pool->waiting(), 0U);
  EXPECT_EQ(provider_->loads(), "a") << "nobody wanted b any more";
  // One that blocks.
  provider_->hold();
  Asker other(*pool, 1);
  ASSERT_TRUE(provider_->wait_for_load("b"));
  int looks = 0;
  const auto lease = pool->lease(2, [&] { return ++looks > 1; });
  provider_->let_go();
  EXPECT_EQ(lease.status().code(), Code::kCancelled);
  EXPECT_TRUE(pool->lease(2, [] { return false; }).ok());
}

TEST_F(PoolOfThree, StopsInEveryState) {
  for (const bool is_loading : {false, true}) {
    const auto pool = make({.max_loaded = 1});
    if (is_loading) provider_->hold();
    Asker running(*pool, 0);
    if (is_loading) {
      ASSERT_TRUE(provider_->wait_for_load("a"));
    } else {
      ASSERT_EQ(running.end(), Code::kOk);
    }
    Asker waiting(*pool, 1);
    std::promise<bool> unloaded;
    pool->unload(0, [&](const Result<ModelLease>& result) { unloaded.set_value(result.ok()); });
    pool->stop();
    EXPECT_EQ(waiting.end(), Code::kCancelled);
    EXPECT_FALSE(unloaded.get_future().get());
    if (is_loading) {
      EXPECT_EQ(running.end(), Code::kCancelled);
    }
    pool->close();
    EXPECT_EQ(Asker(*pool, 2).status().code(), Code::kCancelled);
    running.give_back();
  }
}

}  // namespace
}  // namespace anemone::serve
