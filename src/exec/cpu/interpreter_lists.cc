// SPDX-License-Identifier: Apache-2.0
// Lists of tensors: values like any other, so a write makes a new list, whose items are shared with
// the old one. A list that nobody else has and nobody reads again becomes the new one as it is, so
// that a loop that fills a list takes as many steps as it writes items.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "exec/cpu/interpreter.h"
#include "exec/cpu/op_call.h"

namespace anemone::exec {
namespace {

// A list index is an int32 in MIL; this keeps a wrong one from taking all memory.
constexpr std::int64_t kMaxItems = 1 << 20;
// Items of lists that one run makes or copies. A loop may keep the old list at every write, or make
// a long one in every round: it ends with an error after seconds instead of hours.
constexpr std::int64_t kMaxItemsOfRun = std::int64_t{1} << 25;

const List& list_of(const Register& reg) {
  static const List empty;
  return reg.list == nullptr ? empty : *reg.list;
}

}  // namespace

Status Interpreter::run_list_op(const PreparedOp& op) {
  switch (op.kind) {
    case PreparedOp::Kind::kMakeList:
      return make_list(op);
    case PreparedOp::Kind::kListLength:
      return list_length(op);
    case PreparedOp::Kind::kListRead:
      return list_read(op);
    case PreparedOp::Kind::kListWrite:
      return list_write(op);
    case PreparedOp::Kind::kListGather:
      return list_gather(op);
    default:
      return list_scatter(op);
  }
}

Status Interpreter::set_list_output(const PreparedOp& op, std::shared_ptr<List> list) {
  Register out;
  out.list = std::move(list);
  return set_output(op, 0, std::move(out));
}

Result<std::int64_t> Interpreter::integer(const PreparedOp& op, std::string_view parameter) const {
  const TensorView& view = reg(op.reg(parameter)).view;
  if (view.data == nullptr)
    return invalid_argument("{} expected one number as \"{}\", got no value", describe(op),
                            parameter);
  if (view.size() != 1)
    return invalid_argument("{} expected one number as \"{}\", got a tensor of shape {}",
                            describe(op), parameter, to_string(view.shape));
  return element_as_int(view, 0);
}

Status Interpreter::make_list(const PreparedOp& op) {
  auto list = std::make_shared<List>();
  std::int64_t length = 1;
  if (op.operand("init_length") != nullptr) {
    ANEMONE_ASSIGN_OR_RETURN(length, integer(op, "init_length"));
  }
  if (op.operand("dynamic_length") != nullptr) {
    ANEMONE_ASSIGN_OR_RETURN(list->is_growable, integer(op, "dynamic_length"));
  }
  if (length < 0 || length > kMaxItems)
    return corrupt("{} expected a length of 0 to {}, got {}", describe(op), kMaxItems, length);
  ANEMONE_RETURN_IF_ERROR(count_items(op, length));
  ANEMONE_RETURN_IF_ERROR(resize(op, *list, length));
  // Items read as zeros before they are written, where their shape is known.
  const ir::Type& type = op.op->outputs[0]->type;
  if (!type.members.empty() && type.members[0].is_tensor() && is_static(type.members[0].shape) &&
      length > 0) {
    ANEMONE_ASSIGN_OR_RETURN(Register zero,
                             allocate(op, type.members[0].dtype, type.members[0].shape));
    std::memset(zero.buffer->data(), 0, static_cast<std::size_t>(zero.view.size_bytes()));
    for (Register& item : list->items) item = zero;
  }
  return set_list_output(op, std::move(list));
}

Status Interpreter::list_length(const PreparedOp& op) {
  ANEMONE_ASSIGN_OR_RETURN(Register out, allocate(op, DType::kInt32, {}));
  const auto length = static_cast<std::int32_t>(list_of(reg(op.reg("ls"))).items.size());
  std::memcpy(out.buffer->data(), &length, sizeof(length));
  return set_output(op, 0, std::move(out));
}

Status Interpreter::list_read(const PreparedOp& op) {
  const List& list = list_of(reg(op.reg("ls")));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t index, integer(op, "index"));
  if (index < 0 || index >= static_cast<std::int64_t>(list.items.size()))
    return invalid_argument("{} expected an index below {}, got {}", describe(op),
                            list.items.size(), index);
  return set_output(op, 0, list.items[static_cast<std::size_t>(index)]);
}

Result<std::shared_ptr<List>> Interpreter::take_list(const PreparedOp& op) {
  const int at = op.reg("ls");
  Register& source = reg(at);
  if (source.list == nullptr) return corrupt("{} expected a list as \"ls\"", describe(op));
  const bool is_read_again = std::ranges::find(op.dead_after, at) == op.dead_after.end();
  if (!is_read_again && source.list.use_count() == 1) return std::move(source.list);
  const auto length = static_cast<std::int64_t>(source.list->items.size());
  ANEMONE_RETURN_IF_ERROR(count_items(op, length));
  auto list = std::make_shared<List>();
  list->is_growable = source.list->is_growable;
  ANEMONE_RETURN_IF_ERROR(resize(op, *list, length));
  std::ranges::copy(source.list->items, list->items.begin());
  return list;
}

Status Interpreter::count_items(const PreparedOp& op, std::int64_t items) {
  items_ += items;
  if (items_ <= kMaxItemsOfRun) return {};
  return corrupt("{} expected at most {} items of lists made and copied in a run, got more",
                 describe(op), kMaxItemsOfRun);
}

Status Interpreter::resize(const PreparedOp& op, List& list, std::int64_t length) {
  const auto count = static_cast<std::size_t>(length);
  if (count > list.items.capacity()) {
    // The capacity doubles, so that a list which grows by one rarely moves its items.
    const std::size_t capacity = std::max(count, 2 * list.items.capacity());
    auto memory = claim_memory(frame_.pool.limit(), capacity * sizeof(Register));
    if (memory == nullptr)
      return out_of_memory("{} not enough memory for a list of {} items", describe(op), length);
    list.items.reserve(capacity);
    list.memory = std::move(memory);
  }
  list.items.resize(count);
  return {};
}

Status Interpreter::put(const PreparedOp& op, List& list, std::int64_t index, Register value) {
  const auto length = static_cast<std::int64_t>(list.items.size());
  const std::int64_t limit = list.is_growable ? kMaxItems : length;
  if (index < 0 || index >= limit)
    return invalid_argument("{} expected an index below {}, got {}", describe(op), limit, index);
  if (index >= length) ANEMONE_RETURN_IF_ERROR(resize(op, list, index + 1));
  list.items[static_cast<std::size_t>(index)] = std::move(value);
  return {};
}

Status Interpreter::list_write(const PreparedOp& op) {
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t index, integer(op, "index"));
  // The value is read before the list is taken: the list may be its own item.
  Register value = reg(op.reg("value"));
  ANEMONE_ASSIGN_OR_RETURN(std::shared_ptr<List> list, take_list(op));
  ANEMONE_RETURN_IF_ERROR(put(op, *list, index, std::move(value)));
  return set_list_output(op, std::move(list));
}

Status Interpreter::list_gather(const PreparedOp& op) {
  const List& list = list_of(reg(op.reg("ls")));
  const std::vector<std::int64_t> indices = to_ints(reg(op.reg("indices")).view);
  const Register* first = nullptr;
  for (const std::int64_t index : indices) {
    if (index < 0 || index >= static_cast<std::int64_t>(list.items.size()))
      return invalid_argument("{} expected an index below {}, got {}", describe(op),
                              list.items.size(), index);
    const Register& item = list.items[static_cast<std::size_t>(index)];
    if (first == nullptr) first = &item;
    if (item.view.data == nullptr || item.view.dtype != first->view.dtype ||
        item.view.shape != first->view.shape || is_sub_byte(item.view.dtype))
      return invalid_argument("{} expected written items of one shape, item {} is not",
                              describe(op), index);
  }
  // Without an item only the program knows the shape of one.
  const ir::Type& declared = function_.type(op.outputs[0]);
  Shape shape = first == nullptr ? declared.shape : first->view.shape;
  if (first != nullptr)
    shape.insert(shape.begin(), static_cast<std::int64_t>(indices.size()));
  else if (!shape.empty())
    shape[0] = 0;
  if (!is_static(shape))
    return invalid_argument("{} expected an index for items of unknown sizes, got none",
                            describe(op));
  const DType dtype = first == nullptr ? declared.dtype : first->view.dtype;
  ANEMONE_ASSIGN_OR_RETURN(Register out, allocate(op, dtype, std::move(shape)));
  const auto size = first == nullptr ? 0 : static_cast<std::size_t>(first->view.size_bytes());
  std::byte* target = out.buffer->data();
  for (const std::int64_t index : indices) {
    if (size > 0) std::memcpy(target, list.items[static_cast<std::size_t>(index)].view.data, size);
    target += size;
  }
  return set_output(op, 0, std::move(out));
}

Status Interpreter::list_scatter(const PreparedOp& op) {
  ANEMONE_ASSIGN_OR_RETURN(std::shared_ptr<List> list, take_list(op));
  const std::vector<std::int64_t> indices = to_ints(reg(op.reg("indices")).view);
  const TensorView value = reg(op.reg("value")).view;
  if (value.shape.empty() || value.shape[0] != static_cast<std::int64_t>(indices.size()) ||
      is_sub_byte(value.dtype))
    return invalid_argument("{} expected one value for each of {} indices, got {}", describe(op),
                            indices.size(), to_string(value.shape));
  const Shape item_shape(value.shape.begin() + 1, value.shape.end());
  const std::byte* source = value.data;
  for (const std::int64_t index : indices) {
    ANEMONE_ASSIGN_OR_RETURN(Register item, allocate(op, value.dtype, item_shape));
    const auto size = static_cast<std::size_t>(item.view.size_bytes());
    if (size > 0) std::memcpy(item.buffer->data(), source, size);
    source += size;
    ANEMONE_RETURN_IF_ERROR(put(op, *list, index, std::move(item)));
  }
  return set_list_output(op, std::move(list));
}

}  // namespace anemone::exec
