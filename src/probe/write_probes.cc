// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "artifact/manifest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/scratch_folder.h"
#include "base/version.h"
#include "compiler/compiler.h"
#include "mlpackage/package_writer.h"
#include "ops/registry.h"
#include "probe/graphs.h"
#include "probe/inputs.h"
#include "probe/mac_script.h"
#include "probe/probe.h"
#include "probe/random_weights.h"

namespace anemone::probe {
namespace {

namespace fs = std::filesystem;

// The id of the first chosen probe that has this build; the others with it share its packages.
std::string_view first_of_build(const std::vector<Probe>& chosen, const Build& build) {
  return std::ranges::find(chosen, build, &Probe::build)->id;
}

Result<compiler::CompileOptions> compile_options(const Build& build, const Options& options) {
  compiler::CompileOptions out;
  const auto recipe = compiler::parse_recipe(build.quant);
  if (!recipe) return invalid_argument("[probe] expected a scheme, got \"{}\"", build.quant);
  out.recipe = *recipe;
  // K-means would take minutes and find no structure in random weights.
  out.recipe.quant.palette_mode = quant::PaletteMode::kUniform;
  out.form = build.form;
  out.context = options.sizes.context;
  if (build.functions == 4) out.tiers = {options.sizes.context / 2};
  out.prefill = build.functions == 1 ? 1 : options.sizes.tokens;
  out.packages.layers = std::string("1");
  out.threads = options.threads;
  out.cancel = options.cancel;
  return out;
}

Status write_config(const std::string& checkpoint, const Build& build, const Sizes& sizes) {
  return write_random_config(checkpoint, sizes,
                             build.has_windows ? std::optional(sizes.window) : std::nullopt);
}

// Runs one function of a package and writes each input and output to a file.
class Recorder {
 public:
  Recorder(std::string root, std::string folder, std::uint64_t seed)
      : root_(std::move(root)), folder_(std::move(folder)), seed_(seed) {}

  Result<Json> record(const exec::LoadedProgram& program, const std::string& function,
                      const Roles& roles) {
    const exec::Signature& signature = *program.signature(function);
    std::vector<Tensor> tensors;
    for (const exec::Feature& feature : signature.inputs) {
      ANEMONE_ASSIGN_OR_RETURN(Tensor tensor, make_input(feature, roles, ++seed_));
      tensors.push_back(std::move(tensor));
    }
    exec::Inputs inputs;
    Json input_list = Json::array();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::string& name = signature.inputs[i].name;
      inputs.push_back({name, tensors[i].view()});
      ANEMONE_ASSIGN_OR_RETURN(Json port,
                               write(fmt::format("{}.in.{}", function, name), name, tensors[i]));
      input_list.push_back(std::move(port));
    }
    ANEMONE_ASSIGN_OR_RETURN(const auto states, program.make_state());
    exec::Outputs outputs;
    ANEMONE_RETURN_IF_ERROR(program.run(function, inputs, outputs, states.get()));
    Json output_list = Json::array();
    for (const exec::NamedTensor& each : outputs) {
      ANEMONE_ASSIGN_OR_RETURN(
          Json port, write(fmt::format("{}.out.{}", function, each.name), each.name, each.tensor));
      output_list.push_back(std::move(port));
    }
    return Json{{"name", function},
                {"is_main", program.functions().size() == 1 && function == "main"},
                {"has_states", !signature.states.empty()},
                {"inputs", std::move(input_list)},
                {"outputs", std::move(output_list)}};
  }

 private:
  Result<Json> write(const std::string& file, const std::string& name, const Tensor& tensor) {
    const std::string path = fmt::format("{}/{}.bin", folder_, file);
    const TensorView view = tensor.view();
    const auto bytes = view.bytes();
    ANEMONE_RETURN_IF_ERROR(write_file(
        root_ + "/" + path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    return Json{
        {"name", name}, {"dtype", dtype_name(view.dtype)}, {"shape", view.shape}, {"file", path}};
  }

  const std::string root_;
  const std::string folder_;  // in the root
  std::uint64_t seed_;
};

// The packages of a build with the roles of their inputs.
struct Written {
  std::vector<std::string> packages;  // below the root
  Roles roles;
};

Result<Written> write_model(const Probe& probe, const std::string& root,
                            const std::string& checkpoint, const Options& options) {
  ANEMONE_ASSIGN_OR_RETURN(const auto compile_with, compile_options(probe.build, options));
  ANEMONE_RETURN_IF_ERROR(write_config(checkpoint, probe.build, options.sizes));
  const std::string folder = fmt::format("{}/model", probe.id);
  ANEMONE_ASSIGN_OR_RETURN(const auto report,
                           compiler::compile(checkpoint, root + "/" + folder, compile_with));
  Written out;
  for (const artifact::Shard& shard : report.manifest.shards) {
    out.packages.push_back(fmt::format("{}/{}", folder, shard.package));
    for (const artifact::Port& port : shard.inputs)
      if (port.role != artifact::PortRole::kHidden) out.roles[port.name] = port.role;
  }
  return out;
}

Result<Written> write_graph(const Probe& probe, const std::string& root, const Options& options) {
  ANEMONE_ASSIGN_OR_RETURN(const BuiltGraph graph,
                           build_graph(probe.build, options.sizes, options.seed));
  const std::string package = fmt::format("{}/{}.mlpackage", probe.id, probe.id);
  ANEMONE_RETURN_IF_ERROR(
      mlpackage::write_package(graph.model, root + "/" + package,
                               {.registry = &ops::op_registry(), .cancel = options.cancel})
          .status());
  return Written{{package},
                 {{"attention_mask", artifact::PortRole::kAttentionMask},
                  {"write_mask", artifact::PortRole::kCacheWriteMask}}};
}

std::uint64_t bytes_below(const std::string& folder) {
  std::uint64_t out = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    if (it->is_regular_file(error)) out += it->file_size(error);
  return out;
}

// The packages of a build and what they take and give, in a folder named after this probe of it.
Result<Json> write_packages(const Probe& probe, const std::string& root,
                            const std::string& checkpoint, const Options& options,
                            exec::Executor& executor) {
  const std::string data = fmt::format("{}/data", probe.id);
  std::error_code error;
  if (!fs::create_directories(fs::path(root) / data, error))
    return io_error("[{}/{}] cannot create: {}", root, data, error.message());
  ANEMONE_ASSIGN_OR_RETURN(const Written written,
                           probe.build.kind == Build::Kind::kModel
                               ? write_model(probe, root, checkpoint, options)
                               : write_graph(probe, root, options));
  Json packages = Json::array();
  Recorder recorder(root, data, options.seed + 17);
  for (const std::string& package : written.packages) {
    ANEMONE_ASSIGN_OR_RETURN(const auto program, executor.load(root + "/" + package));
    Json functions = Json::array();
    for (const std::string& function : program->functions()) {
      ANEMONE_ASSIGN_OR_RETURN(Json each, recorder.record(*program, function, written.roles));
      functions.push_back(std::move(each));
    }
    packages.push_back({{"path", package},
                        {"bytes", bytes_below(root + "/" + package)},
                        {"functions", std::move(functions)}});
  }
  return packages;
}

bool needs_model(const std::vector<Probe>& chosen) {
  for (const Probe& each : chosen)
    if (each.build.kind == Build::Kind::kModel) return true;
  return false;
}

// Bytes of the weights that a build will have on disk.
Result<std::uint64_t> planned_bytes(const Build& build, const Options& options) {
  if (build.kind == Build::Kind::kModel) {
    ANEMONE_ASSIGN_OR_RETURN(const ScratchFolder scratch,
                             ScratchFolder::create_temporary("anemone-probe"));
    ANEMONE_RETURN_IF_ERROR(write_config(scratch.path(), build, options.sizes));
    ANEMONE_ASSIGN_OR_RETURN(auto compile_with, compile_options(build, options));
    compile_with.dry_run = true;
    ANEMONE_ASSIGN_OR_RETURN(
        const auto report,
        compiler::compile(scratch.path(), scratch.path() + "/model", compile_with));
    return report.total_bytes;
  }
  ANEMONE_ASSIGN_OR_RETURN(const BuiltGraph graph, build_graph(build, options.sizes, options.seed));
  return graph.weight_bytes;
}

}  // namespace

Result<ProbePlan> plan_probes(const std::vector<Probe>& chosen, const Options& options) {
  ProbePlan out;
  for (const Probe& probe : chosen) {
    PlannedProbe row{.id = probe.id};
    const std::string_view first = first_of_build(chosen, probe.build);
    if (first == probe.id) {
      ANEMONE_ASSIGN_OR_RETURN(row.bytes, planned_bytes(probe.build, options));
      out.total_bytes += row.bytes;
    } else {
      row.bytes = std::ranges::find(out.probes, first, &PlannedProbe::id)->bytes;
      row.packages_of = first;
    }
    out.probes.push_back(row);
  }
  return out;
}

Status write_probes(const std::vector<Probe>& chosen, const std::string& output,
                    const Options& options, exec::Executor& executor, const OnProbe& on_probe) {
  std::error_code error;
  if (fs::exists(output, error) && !fs::is_empty(output, error))
    return invalid_argument("[{}] expected a new or an empty folder, got files", output);
  const fs::path target(output);
  const fs::path parent = target.has_parent_path() ? target.parent_path() : fs::path(".");
  // Written to a scratch folder and renamed at the end: an interrupted run leaves no incomplete
  // kit.
  ANEMONE_ASSIGN_OR_RETURN(const ScratchFolder scratch,
                           ScratchFolder::create(parent.string(), target.filename().string()));
  const std::string root = scratch.path() + "/kit";
  const std::string checkpoint = scratch.path() + "/checkpoint";
  for (const std::string& folder : {root, checkpoint})
    if (!fs::create_directory(folder, error))
      return io_error("[{}] cannot create: {}", folder, error.message());
  if (needs_model(chosen))
    ANEMONE_RETURN_IF_ERROR(write_random_weights(checkpoint, options.sizes, options.seed));
  std::map<std::string_view, Json> packages;  // by the id of the first probe of their build
  Json list = Json::array();
  for (const Probe& probe : chosen) {
    if (options.cancel != nullptr && *options.cancel) return cancelled("[probe] interrupted");
    if (on_probe) on_probe(list.size(), chosen.size(), probe.id);
    const std::string_view first = first_of_build(chosen, probe.build);
    if (first == probe.id) {
      ANEMONE_ASSIGN_OR_RETURN(packages[first],
                               write_packages(probe, root, checkpoint, options, executor));
    }
    list.push_back({{"id", probe.id},
                    {"question", probe.question},
                    {"source", probe.source},
                    {"differs", probe.differs},
                    {"packages", packages[first]}});
  }
  const Json kit = {{"format", 1},
                    {"anemone", version()},
                    {"seed", options.seed},
                    {"executor", executor.name()},
                    {"probes", std::move(list)}};
  ANEMONE_RETURN_IF_ERROR(write_file(root + "/probe.json", kit.dump(1) + "\n"));
  ANEMONE_RETURN_IF_ERROR(write_file(root + "/probe.swift", kMacScript));
  fs::rename(root, output, error);
  if (error) return io_error("[{}] cannot create: {}", output, error.message());
  return {};
}

}  // namespace anemone::probe
