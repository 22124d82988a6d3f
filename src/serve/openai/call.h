// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "base/work_budget.h"
#include "serve/http/message.h"
#include "serve/model_pool.h"

namespace anemone::serve::openai {

// What a request comes with, beside its body.
struct Call {
  std::shared_ptr<Responder> responder;
  const HeaderList& headers;  // that the answer is to have
  WorkBudget& budget;         // for all that is done until the request is queued
  // On the model that the request names; the functions of Backend that use a model have it.
  ModelLease model = nullptr;
  // Set where that model has to be loaded first: then the request has not begun, and is to come
  // again with a lease.
  std::optional<std::size_t> awaited = std::nullopt;
};

}  // namespace anemone::serve::openai
