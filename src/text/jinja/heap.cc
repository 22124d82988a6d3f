// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/heap.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/utf8.h"

namespace anemone::text::jinja {
namespace {

// Bytes of a text with the bookkeeping of its allocations.
std::size_t text_bytes(const std::string& text) {
  return sizeof(TextObject) + 64 + text.capacity();
}

Status too_much_memory(std::size_t limit) {
  return invalid_argument("[chat template] expected values of at most {} MB, got more",
                          limit >> 20);
}

}  // namespace

TextObject::~TextObject() {
  if (heap != nullptr) heap->give_back(bytes);
}

Heap::Heap(const Limits& limits, WorkBudget* budget)
    : limits_(limits),
      budget_(budget),
      work_left_(static_cast<std::size_t>(std::max<std::int64_t>(limits.work, 0))) {}

Heap::~Heap() {
  // What still lives is kept alive by a cycle: emptied, each container loses its last owner.
  is_burying_ = true;
  while (live_ != nullptr) {
    Container& container = *live_;
    live_ = container.next_;
    if (live_ != nullptr) live_->previous_ = nullptr;
    container.next_ = nullptr;
    container.is_live_ = false;
    container.clear();
  }
  bury();
  if (budget_ != nullptr) budget_->give_back(held_);
}

Status Heap::exhausted() {
  work_left_ = 0;
  return invalid_argument("[chat template] expected at most {} steps of work, got more",
                          limits_.work);
}

Status Heap::take(std::size_t bytes) {
  if (bytes > limits_.memory - held_) return too_much_memory(limits_.memory);
  if (budget_ != nullptr) ANEMONE_RETURN_IF_ERROR(budget_->take(bytes));
  held_ += bytes;
  return ok_status();
}

void Heap::give_back(std::size_t bytes) {
  held_ -= bytes;
  if (budget_ != nullptr) budget_->give_back(bytes);
}

void Heap::adopt(Container& container, std::size_t bytes) {
  container.heap_ = this;
  container.bytes_ = bytes;
  container.is_live_ = true;
  container.next_ = live_;
  if (live_ != nullptr) live_->previous_ = &container;
  live_ = &container;
}

Status Heap::grow(Container& container, std::size_t bytes) {
  ANEMONE_RETURN_IF_ERROR(take(bytes));
  container.bytes_ += bytes;
  return ok_status();
}

void Heap::Release::operator()(Container* container) const {
  if (container->heap_ == nullptr)
    delete container;
  else
    container->heap_->release(*container);
}

void Heap::release(Container& container) {
  if (container.is_live_) {
    if (container.next_ != nullptr) container.next_->previous_ = container.previous_;
    (container.previous_ != nullptr ? container.previous_->next_ : live_) = container.next_;
  }
  container.next_ = buried_;
  buried_ = &container;
  if (!is_burying_) bury();
}

// Deletes one container after the other: what was in one comes to the list instead of the stack.
void Heap::bury() {
  is_burying_ = true;
  while (buried_ != nullptr) {
    Container* const container = buried_;
    buried_ = container->next_;
    give_back(container->bytes_);
    delete container;
  }
  is_burying_ = false;
}

Result<Value> Heap::text(std::string text) {
  if (text.size() > limits_.output_bytes)
    return invalid_argument("[chat template] expected a text of at most {} bytes",
                            limits_.output_bytes);
  ANEMONE_RETURN_IF_ERROR(charge(cost::kObject + cost::bytes(text.size())));
  const std::size_t bytes = text_bytes(text);
  ANEMONE_RETURN_IF_ERROR(take(bytes));
  return Value(std::make_shared<const TextObject>(std::move(text), this, bytes));
}

Result<Value> Heap::undefined(std::string hint) {
  ANEMONE_ASSIGN_OR_RETURN(const Value text, this->text(std::move(hint)));
  return Value(Value::Undefined{std::get<Value::Text>(text.data())});
}

Result<Value> Heap::sequence(std::vector<Value> items, SequenceKind kind, Status end) {
  if (items.size() > limits_.items)
    return invalid_argument("[chat template] expected at most {} items", limits_.items);
  ANEMONE_RETURN_IF_ERROR(charge(items.size() * cost::kItem));
  const std::size_t bytes =
      sizeof(Sequence) + 64 + items.capacity() * sizeof(Value) + end.message().size();
  Sequence sequence;
  sequence.kind = kind;
  sequence.items = std::move(items);
  sequence.end = std::move(end);
  ANEMONE_ASSIGN_OR_RETURN(auto pointer, make(std::move(sequence), bytes));
  return Value::object(std::move(pointer));
}

Result<Value> Heap::dict(Dict dict) {
  const std::size_t bytes = sizeof(DictObject) + 64 + dict.size() * Dict::kEntryBytes;
  DictObject object;
  object.dict = std::move(dict);
  ANEMONE_ASSIGN_OR_RETURN(auto pointer, make(std::move(object), bytes));
  return Value::object(std::move(pointer));
}

Result<Value> Heap::from_json(const Json& json, int depth) {
  if (depth > kMaxValueDepth) return too_deep();
  ANEMONE_RETURN_IF_ERROR(charge(cost::kItem));
  switch (json.type()) {
    case Json::value_t::boolean:
      return Value::boolean(json.get<bool>());
    case Json::value_t::number_integer:
      return Value::integer(json.get<std::int64_t>());
    case Json::value_t::number_unsigned:
      return Value::integer(static_cast<Int>(json.get<std::uint64_t>()));
    case Json::value_t::number_float:
      return Value::number(json.get<double>());
    case Json::value_t::string:
      return text(replace_invalid_utf8(json.get_ref<const std::string&>()));
    case Json::value_t::array: {
      std::vector<Value> items;
      items.reserve(json.size());
      for (const Json& item : json) {
        ANEMONE_ASSIGN_OR_RETURN(Value value, from_json(item, depth + 1));
        items.push_back(std::move(value));
      }
      return sequence(std::move(items));
    }
    case Json::value_t::object: {
      Dict dict;
      for (const auto& [key, item] : json.items()) {
        ANEMONE_ASSIGN_OR_RETURN(const Value name, text(replace_invalid_utf8(key)));
        ANEMONE_ASSIGN_OR_RETURN(Value value, from_json(item, depth + 1));
        ANEMONE_RETURN_IF_ERROR(dict.set(*this, name, std::move(value)));
      }
      return this->dict(std::move(dict));
    }
    default:
      return Value::none();
  }
}

Status Output::append(std::string_view text) {
  const Limits& limits = heap_.limits();
  if (text.size() > limits.output_bytes - text_.size())
    return invalid_argument("[chat template] expected an output of at most {} bytes",
                            limits.output_bytes);
  ANEMONE_RETURN_IF_ERROR(heap_.charge(cost::bytes(text.size())));
  text_ += text;
  if (text_.capacity() <= counted_) return ok_status();
  const std::size_t more = text_.capacity() - counted_;
  ANEMONE_RETURN_IF_ERROR(heap_.take(more));
  counted_ += more;
  return ok_status();
}

}  // namespace anemone::text::jinja
