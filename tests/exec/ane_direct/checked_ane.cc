// SPDX-License-Identifier: Apache-2.0
#include "tests/exec/ane_direct/checked_ane.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include "exec/cpu/cpu_executor.h"
#include "ir/program.h"
#include "ir/text.h"
#include "mlpackage/blob.h"
#include "tensor/tensor.h"

namespace anemone::exec::ane_direct::testing {
namespace {

constexpr std::string_view kAneDomain = "com.apple.appleneuralengine";
// In every byte it is NaN in fp16.
constexpr std::byte kPoison{0x7e};

RuntimeError invalid_text(const std::string& why) {
  return runtime_error(std::string(kAneDomain), 1, "InvalidMILProgram: " + why);
}

// The real one gives no reason; the double tells its own.
RuntimeError no_compile(const std::string& why) {
  return runtime_error(std::string(kAneDomain), 2, "ANECCompile() FAILED: err=(" + why + ")");
}

RuntimeError bad_surface(const std::string& why) {
  return runtime_error(std::string(kAneDomain), 3,
                       "ANEProgramProcessRequestDirect() Failed with status=0x1d : " + why);
}

std::uint64_t slot_bytes(std::int64_t columns) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(columns) * 2;
  return (bytes + kRowBytes - 1) / kRowBytes * kRowBytes;
}

// What the compiler of the chip is known to refuse.
std::string refused(const ir::Block& block) {
  for (const ir::Op* op : block.ops) {
    if (op->type == "gelu") return "gelu";
    if (op->type == "conv" && op->input("bias") != nullptr) return "a bias of conv";
    if (op->type == "concat") return "concat";
    for (const ir::Value* output : op->outputs)
      for (const std::int64_t size : output->type.shape)
        if (size > 16'384) return "a dimension of " + std::to_string(size);
  }
  return "";
}

std::string port_fault(const ir::Value& value) {
  const ir::Type& type = value.type;
  if (!type.is_tensor() || type.dtype != DType::kFp16 || type.shape.size() != 4 ||
      !is_static(type.shape) || type.shape[0] != 1)
    return value.name + " is " + to_string(type);
  return "";
}

}  // namespace

struct CheckedAne::Model {
  std::shared_ptr<const ir::Program> program;
  std::shared_ptr<const LoadedProgram> loaded;
  bool is_loaded = false;
  bool is_busy = false;
  bool is_wrong = false;

  const ir::Function& main() const { return *program->functions()[0]; }
};

struct CheckedAne::SurfaceMemory {
  std::vector<std::byte> bytes;
  bool is_busy = false;
};

class CheckedAne::Use {
 public:
  explicit Use(std::mutex& mutex) : mutex_(mutex) {}
  ~Use() {
    const std::lock_guard lock(mutex_);
    for (const std::shared_ptr<bool>& flag : flags_) *flag = false;
  }
  // Requires the lock. False: it is in use already.
  // The owner of the flag may be released while it is used: that is a misuse that is told, and no
  // fault.
  bool take(std::shared_ptr<bool> flag) {
    if (*flag) return false;
    *flag = true;
    flags_.push_back(std::move(flag));
    return true;
  }

 private:
  std::mutex& mutex_;
  std::vector<std::shared_ptr<bool>> flags_;
};

std::string syntax_fault(std::string_view mil, std::string_view chip) {
  // Strings may hold anything.
  std::string text;
  bool is_quoted = false;
  for (std::size_t i = 0; i < mil.size(); ++i) {
    if (is_quoted && mil[i] == '\\')
      ++i;
    else if (mil[i] == '"')
      is_quoted = !is_quoted;
    else if (!is_quoted)
      text += mil[i];
  }
  const bool is_old = text.starts_with("program(1.0)\n");
  if (!is_old && !text.starts_with("program(1.3)\n")) return "the header is neither 1.0 nor 1.3";
  const bool is_old_chip =
      chip.starts_with("Apple M1") || chip.starts_with("Apple M2") || chip.starts_with("Apple M3");
  if (is_old_chip && !is_old) return "the chip takes program(1.0) alone";
  const std::string target = is_old ? "func main<ios16>(" : "func main<ios18>(";
  if (text.find(target) == std::string::npos) return "no " + target + "..)";
  if (mil.find("coremlc-version") == std::string_view::npos) return "no coremlc-version";
  if (!is_old) return text.find("[]>") == std::string::npos ? "" : "a scalar that is a tensor";
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (const std::string_view type : {"string", "bool", "fp16", "fp32", "int32", "uint64"}) {
    for (std::size_t at = text.find(type); at != std::string::npos; at = text.find(type, at + 1)) {
      const char after = at + type.size() < text.size() ? text[at + type.size()] : ' ';
      if (is_word(text[at - 1]) || is_word(after)) continue;
      if (!text.substr(0, at).ends_with("tensor<")) return fmt::format("{} by itself", type);
    }
  }
  return "";
}

CheckedAne::CheckedAne(CheckedOptions options) : options(std::move(options)) {}
CheckedAne::~CheckedAne() = default;

RuntimeError CheckedAne::misuse(const std::string& text) {
  violations_.push_back(text);
  return misuse_error(text);
}

Failure CheckedAne::fault(Fault::Call call) {
  for (Fault& each : faults_) {
    if (each.call != call || each.times == 0) continue;
    if (each.after-- > 0) continue;
    if (each.times > 0) --each.times;
    return each.error;
  }
  return std::nullopt;
}

Failure CheckedAne::check_qos(std::uint32_t qos) {
  if (qos <= 63) return std::nullopt;
  return misuse("the quality of service is not from 0 to 63");
}

Outcome<std::shared_ptr<CheckedAne::Model>> CheckedAne::find(ModelHandle model) {
  const auto found = models_.find(model);
  if (found == models_.end()) return misuse("the model was released, or is none");
  return found->second;
}

Outcome<std::shared_ptr<CheckedAne::SurfaceMemory>> CheckedAne::find(SurfaceHandle surface) {
  const auto found = surfaces_.find(surface);
  if (found == surfaces_.end()) return misuse("the surface was released, or is none");
  return found->second;
}

Outcome<ModelHandle> CheckedAne::compile(std::string_view mil, std::span<const WeightFile> weights,
                                         std::uint32_t qos) {
  const std::lock_guard lock(mutex_);
  last_text_ = mil;
  ++compiles_;
  if (Failure bad = check_qos(qos)) return *bad;
  if (Failure injected = fault(Fault::Call::kCompile)) return *injected;
  if (compiles_ > options.most_compiles)
    return runtime_error(std::string(kSilentDomain), 0, "compile gave NO");
  if (const std::string why = syntax_fault(mil, options.chip); !why.empty())
    return invalid_text(why);

  std::set<std::string, std::less<>> unread;
  for (const WeightFile& file : weights)
    if (!file.path.starts_with("weights/") || !file.path.ends_with(".bin") ||
        !unread.insert(file.path).second)
      return misuse("a weight file has the path " + file.path);
  const auto read = [&](const ir::Type& type, std::string_view path,
                        std::uint64_t offset) -> Result<ir::Literal> {
    const auto file = std::ranges::find_if(
        weights, [&](const WeightFile& each) { return "@model_path/" + each.path == path; });
    if (file == weights.end()) return Status(Code::kNotFound, "no file " + std::string(path));
    unread.erase(file->path);
    // The memory of the caller may go.
    const auto kept =
        std::make_shared<const std::vector<std::byte>>(file->bytes.begin(), file->bytes.end());
    ANEMONE_ASSIGN_OR_RETURN(const auto reader,
                             mlpackage::BlobReader::open(*kept, kept, file->path));
    ANEMONE_ASSIGN_OR_RETURN(const auto blobs, reader.list());
    if (blobs.size() != 1) return Status(Code::kCorrupt, file->path + " has not one constant");
    ANEMONE_ASSIGN_OR_RETURN(
        auto data,
        reader.tensor(offset, type.dtype, static_cast<std::uint64_t>(element_count(type.shape))));
    return ir::Literal(type, std::move(data));
  };
  auto parsed = ir::parse(mil, "model.mil", {.blob = read});
  if (!parsed.ok()) return invalid_text(parsed.status().message());
  if (!unread.empty()) return misuse("no constant lies in " + *unread.begin());
  const auto model = std::make_shared<Model>();
  model->program = std::make_shared<const ir::Program>(std::move(*parsed));
  auto loaded = load_program(model->program, {}, {}, {.threads = 1, .is_reference = true});
  if (!loaded.ok()) return invalid_text(loaded.status().message());
  if (model->program->functions().size() != 1) return invalid_text("not one function");
  const ir::Function& main = model->main();
  if (main.inputs.size() > kMostPorts || main.block->outputs.size() > kMostPorts)
    return no_compile("too many inputs or outputs");
  for (const auto& values : {main.inputs, main.block->outputs})
    for (const ir::Value* value : values)
      if (const std::string why = port_fault(*value); !why.empty()) return no_compile(why);
  if (const std::string why = refused(*main.block); !why.empty()) return no_compile(why);
  model->loaded = *loaded;
  model->is_wrong = options.miscompiled.contains(compiles_);
  const ModelHandle handle{next_++};
  models_.emplace(handle, model);
  return handle;
}

Failure CheckedAne::load(ModelHandle handle, std::uint32_t qos) {
  const std::lock_guard lock(mutex_);
  if (Failure bad = check_qos(qos)) return bad;
  const auto model = find(handle);
  if (!model.ok()) return model.error();
  if ((*model)->is_loaded) return misuse("the model is loaded already");
  if (Failure injected = fault(Fault::Call::kLoad)) return injected;
  (*model)->is_loaded = true;
  return std::nullopt;
}

Failure CheckedAne::unload(ModelHandle handle, std::uint32_t qos) {
  const std::lock_guard lock(mutex_);
  if (Failure bad = check_qos(qos)) return bad;
  const auto model = find(handle);
  if (!model.ok()) return model.error();
  if (!(*model)->is_loaded) return misuse("the model is not loaded");
  if ((*model)->is_busy) return misuse("the model is unloaded while it runs");
  if (Failure injected = fault(Fault::Call::kUnload)) return injected;
  (*model)->is_loaded = false;
  return std::nullopt;
}

void CheckedAne::release(ModelHandle handle) {
  const std::lock_guard lock(mutex_);
  const auto model = find(handle);
  if (!model.ok()) return;
  if ((*model)->is_busy) misuse("the model is released while it runs");
  if ((*model)->is_loaded) misuse("the model is released while it is loaded");
  models_.erase(handle);
}

Outcome<SurfaceHandle> CheckedAne::make_surface(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (Failure injected = fault(Fault::Call::kMakeSurface)) return *injected;
  if (bytes == 0 || bytes > 1ULL << 30) return misuse(fmt::format("a surface of {} bytes", bytes));
  const auto surface = std::make_shared<SurfaceMemory>();
  surface->bytes.assign(bytes, kPoison);
  const SurfaceHandle handle{next_++};
  surfaces_.emplace(handle, surface);
  return handle;
}

Failure CheckedAne::access(SurfaceHandle handle, Access access,
                           const std::function<void(std::span<std::byte>)>& use) {
  Use in_use(mutex_);
  std::shared_ptr<SurfaceMemory> surface;
  {
    const std::lock_guard lock(mutex_);
    const auto found = find(handle);
    if (!found.ok()) return found.error();
    surface = *found;
    if (Failure injected = fault(Fault::Call::kAccess)) return injected;
    if (!in_use.take({surface, &surface->is_busy})) return misuse("the surface is in use");
  }
  const std::vector<std::byte> before = surface->bytes;
  use(surface->bytes);
  if (access == Access::kRead && surface->bytes != before) {
    const std::lock_guard lock(mutex_);
    return misuse("a surface was written that is only read");
  }
  return std::nullopt;
}

void CheckedAne::release(SurfaceHandle handle) {
  const std::lock_guard lock(mutex_);
  const auto found = find(handle);
  if (!found.ok()) return;
  if ((*found)->is_busy) misuse("the surface is released while it is in use");
  surfaces_.erase(handle);
}

Failure CheckedAne::evaluate(ModelHandle handle, std::span<const SurfaceHandle> inputs,
                             std::span<const SurfaceHandle> outputs, std::uint32_t qos) {
  Use in_use(mutex_);
  std::shared_ptr<Model> model;
  std::vector<std::shared_ptr<SurfaceMemory>> in;
  std::vector<std::shared_ptr<SurfaceMemory>> out;
  {
    const std::lock_guard lock(mutex_);
    ++evaluations_;
    if (Failure bad = check_qos(qos)) return bad;
    const auto found = find(handle);
    if (!found.ok()) return found.error();
    model = *found;
    if (!model->is_loaded) return misuse("the model is not loaded");
    if (!in_use.take({model, &model->is_busy}))
      return misuse("two evaluations at a time with one model");
    for (const auto& [handles, surfaces] : {std::pair{inputs, &in}, {outputs, &out}}) {
      for (const SurfaceHandle each : handles) {
        const auto surface = find(each);
        if (!surface.ok()) return surface.error();
        if (!in_use.take({*surface, &(*surface)->is_busy}))
          return misuse("a surface is in use, or given twice");
        surfaces->push_back(*surface);
      }
    }
    if (inputs.size() != model->main().inputs.size() ||
        outputs.size() != model->main().block->outputs.size())
      return misuse("another number of surfaces than inputs and outputs");
  }
  if (const auto hook = in_evaluate) hook();  // a copy, since it may replace itself
  Failure failure;
  {
    const std::lock_guard lock(mutex_);
    failure = fault(Fault::Call::kEvaluate);
  }
  if (!failure) failure = run(*model, in, out);
  if (failure)
    for (const auto& surface : out) std::ranges::fill(surface->bytes, kPoison);
  return failure;
}

Failure CheckedAne::run(const Model& model,
                        const std::vector<std::shared_ptr<SurfaceMemory>>& inputs,
                        const std::vector<std::shared_ptr<SurfaceMemory>>& outputs) const {
  const auto in_order = [](std::vector<ir::Value*> values, PortOrder order) {
    if (order == PortOrder::kAlphabetical) std::ranges::sort(values, {}, &ir::Value::name);
    return values;
  };
  const auto ins = in_order(model.main().inputs, options.inputs);
  const auto outs = in_order(model.main().block->outputs, options.outputs);
  std::set<std::size_t> sizes;
  for (const auto& [values, surfaces] : {std::pair{&ins, &inputs}, {&outs, &outputs}}) {
    for (std::size_t i = 0; i < values->size(); ++i) {
      const Shape& shape = (*values)[i]->type.shape;
      const std::uint64_t least =
          static_cast<std::uint64_t>(shape[1] * shape[2]) * slot_bytes(shape[3]);
      const std::size_t got = (*surfaces)[i]->bytes.size();
      sizes.insert(got);
      if (got < least)
        return bad_surface(fmt::format("{} has {} bytes of {}", (*values)[i]->name, got, least));
    }
  }
  if (options.needs_equal_surfaces && sizes.size() > 1) return bad_surface("sizes differ");

  const auto copy_rows = [](const Shape& shape, std::uint64_t stride, auto&& copy) {
    for (std::int64_t r = 0; r < shape[1] * shape[2]; ++r)
      copy(static_cast<std::uint64_t>(r) * stride, static_cast<std::uint64_t>(r * shape[3]) * 2,
           static_cast<std::size_t>(shape[3]) * 2);
  };
  std::vector<Tensor> tensors;
  Inputs values;
  for (std::size_t i = 0; i < ins.size(); ++i) {
    const Shape& shape = ins[i]->type.shape;
    tensors.emplace_back(DType::kFp16, shape);
    std::byte* to = tensors.back().mutable_view().data;
    const std::uint64_t stride =
        options.read_row_bytes != 0 ? options.read_row_bytes : slot_bytes(shape[3]);
    copy_rows(shape, stride, [&](std::uint64_t row, std::uint64_t dense, std::size_t bytes) {
      if (row + bytes <= inputs[i]->bytes.size())
        std::memcpy(to + dense, inputs[i]->bytes.data() + row, bytes);
    });
  }
  for (std::size_t i = 0; i < ins.size(); ++i) values.push_back({ins[i]->name, tensors[i].view()});
  Outputs results;
  const Status status = model.loaded->run("", values, results, nullptr);
  if (!status.ok()) return runtime_error(std::string(kAneDomain), 4, status.message());
  for (std::size_t i = 0; i < outs.size(); ++i) {
    Tensor result = find_output(results, outs[i]->name)->clone();
    if (model.is_wrong) {
      std::vector<float> numbers = to_floats(result.view());
      for (float& number : numbers) number *= 1.5f;
      store_floats(numbers, result.mutable_view());
    }
    const Shape& shape = outs[i]->type.shape;
    copy_rows(shape, slot_bytes(shape[3]),
              [&](std::uint64_t row, std::uint64_t dense, std::size_t bytes) {
                std::memcpy(outputs[i]->bytes.data() + row, result.view().data + dense, bytes);
              });
  }
  return std::nullopt;
}

void CheckedAne::inject(Fault fault) {
  const std::lock_guard lock(mutex_);
  faults_.push_back(std::move(fault));
}

std::vector<std::string> CheckedAne::violations() const {
  const std::lock_guard lock(mutex_);
  return violations_;
}

int CheckedAne::compiles() const {
  const std::lock_guard lock(mutex_);
  return compiles_;
}

int CheckedAne::evaluations() const {
  const std::lock_guard lock(mutex_);
  return evaluations_;
}

std::size_t CheckedAne::live_models() const {
  const std::lock_guard lock(mutex_);
  return models_.size();
}

std::size_t CheckedAne::live_surfaces() const {
  const std::lock_guard lock(mutex_);
  return surfaces_.size();
}

std::string CheckedAne::last_text() const {
  const std::lock_guard lock(mutex_);
  return last_text_;
}

}  // namespace anemone::exec::ane_direct::testing
