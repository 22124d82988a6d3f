// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <filesystem>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/name_index.h"
#include "checkpoint/safetensors.h"
#include "cli/output_place.h"
#include "cli/predict.h"
#include "cli/predict_report.h"
#include "cli/predict_values.h"
#include "mlpackage/compiled_reader.h"
#include "values/npy.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;

// A text that changes when a file of the package does; empty when that cannot be told.
std::string version_of(const std::string& path) {
  std::error_code error;
  std::vector<std::string> lines;
  const auto add = [&](const fs::path& file) {
    const auto size = fs::file_size(file, error);
    if (error) return;
    const auto time = fs::last_write_time(file, error).time_since_epoch().count();
    lines.push_back(fmt::format("{} {} {}", file.string(), size, time));
  };
  if (!fs::is_directory(path, error)) {
    add(path);
  } else {
    constexpr std::size_t kMaxFiles = 1000;
    for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
         it.increment(error)) {
      if (it->is_regular_file(error)) add(it->path());
      if (lines.size() > kMaxFiles) return {};
    }
  }
  if (error) return {};
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

bool is_aligned(const TensorView& view) {
  const std::uint64_t size = std::max<std::uint64_t>(1, dtype_bytes(view.dtype, 1));
  return reinterpret_cast<std::uintptr_t>(view.data) % size == 0;
}

// A file whose elements are of types that programs have, too.
Result<std::shared_ptr<const checkpoint::SafetensorsFile>> open_values(const std::string& path) {
  ANEMONE_ASSIGN_OR_RETURN(auto file, checkpoint::SafetensorsFile::open(path));
  for (const checkpoint::WeightRef* tensor : file->all())
    if (tensor->decoder != nullptr)
      return unsupported("[{}] expected {} in a type that programs have, got {}", path,
                         tensor->name, tensor->storage());
  return file;
}

// The tensors of a file; those that lie unaligned are copied to `copies`.
exec::Inputs views_of(const checkpoint::SafetensorsFile& file, std::vector<Tensor>& copies) {
  exec::Inputs out;
  for (const checkpoint::WeightRef* tensor : file.all()) {
    TensorView view = tensor->view();
    if (!is_aligned(view)) {
      copies.push_back(Tensor::copy_of(view));
      view = copies.back().view();
    }
    out.push_back({tensor->name, view});
  }
  return out;
}

Status read_states(const std::string& path, const exec::Signature& signature,
                   exec::StateStore& store) {
  ANEMONE_ASSIGN_OR_RETURN(const auto file, open_values(path));
  for (const checkpoint::WeightRef* tensor : file->all())
    if (Status status = store.write(tensor->name, tensor->view()); !status.ok())
      return status.with(path);
  for (const exec::Feature& state : signature.states)
    if (file->find(state.name) == nullptr)
      return invalid_argument("[{}] expected the state {}, got none", path, state.name);
  return {};
}

// The file of the states, not committed yet.
Result<AtomicFile> states_file(const std::string& path, const exec::StateStore& store) {
  std::vector<Tensor> tensors;
  std::vector<NamedView> named;
  for (const exec::Feature& state : store.states()) {
    ANEMONE_ASSIGN_OR_RETURN(Tensor tensor, store.read(state.name));
    tensors.push_back(std::move(tensor));
    named.push_back({state.name, tensors.back().view()});
  }
  return checkpoint::prepare_safetensors(path, named);
}

// What the package itself says of a function: what an executor need not know of it, such as colors
// and the names of classes.
struct Described {
  mlpackage::Model model;
  const mlpackage::FunctionInterface* interface = nullptr;
  const ir::Function* function = nullptr;
};

Result<Described> describe(const PredictRequest& request, const std::string& function) {
  Described out;
  ANEMONE_ASSIGN_OR_RETURN(out.model, mlpackage::read_model(request.package));
  out.interface = out.model.function(function);
  out.function = out.model.program.function(function);
  if (out.interface == nullptr || out.function == nullptr)
    return not_found("[{}] expected a description of the function {}, got none", request.package,
                     function);
  return out;
}

// The inputs that are given one by one, and those that are made up because they are not given.
struct Values {
  std::deque<Tensor> tensors;
  std::vector<std::string> default_shapes;  // made up, and could be of other shapes: "x [1, 16]"
};

// Adds the inputs that are given one by one, and the values that fill the others, to `inputs`.
// `values` owns them.
Status add_values(const PredictRequest& request, const exec::Signature& signature,
                  const Described& described, Values& values, exec::Inputs& inputs) {
  ANEMONE_ASSIGN_OR_RETURN(std::vector<GivenValue> all, given_values(request.values));
  if (!request.fill.empty()) fill_others(request.fill, signature, inputs, all);
  for (const GivenValue& given : all) {
    ANEMONE_ASSIGN_OR_RETURN(Tensor tensor,
                             named_input_tensor(given, signature, *described.interface));
    const exec::Feature& feature = *signature.input(given.name);
    if (has_default_shape(given, feature))
      values.default_shapes.push_back(given.name + " " + to_string(tensor.shape()));
    values.tensors.push_back(std::move(tensor));
    inputs.push_back({feature.name, values.tensors.back().view()});
  }
  return {};
}

// An error of a run is about the values that it got, since the package was loaded without one.
Status error_of_values(const Status& status, const std::vector<std::string>& default_shapes) {
  if (status.code() != Code::kCorrupt && status.code() != Code::kInvalidArgument) return status;
  const Status of_values(Code::kInvalidArgument, status.message());
  if (default_shapes.empty()) return of_values;
  return of_values.with(fmt::format("default shapes: {}; NAME=ones:1x8 gives another",
                                    fmt::join(default_shapes, ", ")));
}

// Refuses outputs that the file cannot hold, before the run, which may take a while.
Status check_outputs(const PredictRequest& request, OutputFile kind,
                     const exec::Signature& signature, const std::optional<Described>& described) {
  if (kind == OutputFile::kPicture)
    return picture_output(*described->interface, request.outputs).status();
  if (kind == OutputFile::kArray && signature.outputs.size() != 1)
    return invalid_argument(
        "[{}] expected a function with one output, got {} (write a .safetensors file)",
        request.outputs, names_of(signature.outputs));
  return {};
}

Result<std::string> bytes_of_picture_output(const std::string& path, const exec::Outputs& outputs,
                                            const Described& described) {
  ANEMONE_ASSIGN_OR_RETURN(const std::string name, picture_output(*described.interface, path));
  const Tensor* output = exec::find_output(outputs, name);
  if (output == nullptr) return not_found("[{}] expected the output {}, got none", path, name);
  return picture_bytes(*output, *described.interface->output(name));
}

// The file of the outputs, not committed yet.
Result<AtomicFile> outputs_file(const std::string& path, OutputFile kind,
                                const exec::Outputs& outputs,
                                const std::optional<Described>& described) {
  if (kind == OutputFile::kTensors) {
    std::vector<NamedView> named;
    for (const exec::NamedTensor& output : outputs)
      named.push_back({output.name, output.tensor.view()});
    return checkpoint::prepare_safetensors(path, named);
  }
  ANEMONE_CHECK(kind == OutputFile::kArray ? outputs.size() == 1 : described.has_value());
  ANEMONE_ASSIGN_OR_RETURN(
      const std::string bytes,
      kind == OutputFile::kArray
          ? values::npy_bytes(outputs.front().tensor.view(), outputs.front().name)
          : bytes_of_picture_output(path, outputs, *described));
  ANEMONE_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  ANEMONE_RETURN_IF_ERROR(file.append(bytes));
  return file;
}

}  // namespace

Result<PredictRequest> parse_predict_request(std::string_view line,
                                             const PredictRequest& defaults) {
  ANEMONE_ASSIGN_OR_RETURN(const Json json, parse_json(line, "request"));
  if (!json.is_object()) return parse_error("[request] expected a JSON object");
  PredictRequest request = defaults;
  const std::pair<const char*, std::string*> members[] = {
      {"package", &request.package},   {"function", &request.function},
      {"inputs", &request.inputs},     {"outputs", &request.outputs},
      {"state_in", &request.state_in}, {"state_out", &request.state_out}};
  for (const auto& [key, value] : json.items()) {
    const auto known =
        std::find_if(std::begin(members), std::end(members),
                     [&, &name = key](const auto& member) { return name == member.first; });
    if (known == std::end(members))
      return invalid_argument("[request] expected no member \"{}\"", key);
    ANEMONE_ASSIGN_OR_RETURN(const auto text, json_string(json, key, "request"));
    if (text && text->empty())
      return invalid_argument("[{}] expected a value, got an empty one", key);
    if (text) *known->second = *text;
  }
  for (const auto& [key, value] : {members[0], members[2], members[3]})
    if (value->empty()) return invalid_argument("[request] expected \"{}\", got none", key);
  return request;
}

Result<std::shared_ptr<const exec::LoadedProgram>> PredictSession::load(const std::string& path) {
  const std::string version = version_of(path);
  if (loaded_ != nullptr && path == loaded_path_ && !version.empty() && version == loaded_version_)
    return loaded_;
  // The old package goes first: two may not fit.
  loaded_.reset();
  ANEMONE_ASSIGN_OR_RETURN(loaded_, executor_->load(path));
  if (is_timed_) ANEMONE_RETURN_IF_ERROR(bench::set_timed(*loaded_, true));
  loaded_path_ = path;
  loaded_version_ = version;
  return loaded_;
}

Result<bench::PlanReport> PredictSession::plan(const PredictRequest& request) const {
  ANEMONE_CHECK(loaded_ != nullptr);
  const std::string& name =
      request.function.empty() ? loaded_->default_function() : request.function;
  bench::PlanReport report("function " + name);
  ANEMONE_RETURN_IF_ERROR(
      report.add(fs::path(request.package).filename().string(), *loaded_, name));
  return report;
}

Status PredictSession::run(const PredictRequest& request, Report* report) {
  const std::string files[] = {request.outputs, request.state_out};
  ANEMONE_RETURN_IF_ERROR(check_output_files(files, {request.package}));
  ANEMONE_ASSIGN_OR_RETURN(const OutputFile kind, output_file(request.outputs));
  if (const auto states = output_file(request.state_out);
      !states.ok() || *states != OutputFile::kTensors)
    return invalid_argument("[{}] expected a name that ends with .safetensors, got {}",
                            request.state_out, fs::path(request.state_out).extension().string());
  ANEMONE_ASSIGN_OR_RETURN(const auto program, load(request.package));
  const std::string& name =
      request.function.empty() ? program->default_function() : request.function;
  const exec::Signature* signature = program->signature(name);
  if (signature == nullptr)
    return not_found("[{}] expected one of the functions {}, got {}", request.package,
                     names_of(program->functions()), name);
  // Read only where it is used, so that a package that stays loaded is not read for each request.
  std::optional<Described> described;
  const bool makes_values = !request.values.empty() || !request.fill.empty();
  if (makes_values || report != nullptr || kind == OutputFile::kPicture) {
    ANEMONE_ASSIGN_OR_RETURN(described, describe(request, name));
  }
  ANEMONE_RETURN_IF_ERROR(check_outputs(request, kind, *signature, described));
  ANEMONE_ASSIGN_OR_RETURN(const auto store, program->make_state());
  if (!request.state_in.empty())
    ANEMONE_RETURN_IF_ERROR(read_states(request.state_in, *signature, *store));
  std::shared_ptr<const checkpoint::SafetensorsFile> file;
  std::vector<Tensor> copies;
  exec::Inputs inputs;
  if (!request.inputs.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(file, open_values(request.inputs));
    inputs = views_of(*file, copies);
  }
  Values values;
  if (makes_values)
    ANEMONE_RETURN_IF_ERROR(add_values(request, *signature, *described, values, inputs));
  if (Status status = check_inputs(*signature, inputs); !status.ok())
    return request.inputs.empty() ? status : status.with(request.inputs);
  exec::Outputs outputs;
  if (Status status = program->run(name, inputs, outputs, store.get()); !status.ok())
    return error_of_values(status, values.default_shapes);
  if (report != nullptr)
    *report = report_outputs(outputs, *described->function, *described->interface);
  // The outputs come last, so that a kill between the two leaves none that look finished.
  std::vector<AtomicFile> written;
  if (!request.state_out.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(AtomicFile states, states_file(request.state_out, *store));
    written.push_back(std::move(states));
  }
  if (!request.outputs.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(AtomicFile tensors,
                             outputs_file(request.outputs, kind, outputs, described));
    written.push_back(std::move(tensors));
  }
  return AtomicFile::commit_all(written);
}

}  // namespace anemone::cli
