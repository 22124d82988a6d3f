// SPDX-License-Identifier: Apache-2.0
#include "selftest/selftest.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <utility>

#include "ane/form.h"
#include "artifact/manifest.h"
#include "base/error.h"
#include "base/file.h"
#include "compiler/compiler.h"
#include "engine/session/session.h"
#include "probe/random_weights.h"
#include "selftest/difference.h"

namespace anemone::selftest {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Ids = std::vector<std::int32_t>;

constexpr std::string_view kQuants[] = {"none", "lut6", "int8"};
constexpr std::int64_t kPrefill = 16;
// More than one step of prefill and a rest.
constexpr std::size_t kPromptTokens = 20;
constexpr std::size_t kNewTokens = 6;
constexpr std::size_t kTimedTokens = 15;

std::string name_of(const Build& build) {
  return fmt::format("{} {}{}", build.form, build.quant, build.is_large ? " large" : "");
}

Ids ids_of(std::size_t count, std::uint64_t seed) {
  Ids ids;
  auto state = static_cast<std::uint32_t>(seed * 2654435761U + 1);
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    ids.push_back(static_cast<std::int32_t>((state >> 8) % 1000));
  }
  return ids;
}

Result<artifact::Manifest> make(const Build& build, const std::string& checkpoint,
                                const std::string& target, const Options& options) {
  compiler::CompileOptions out;
  const auto recipe = compiler::parse_recipe(build.quant);
  if (!recipe) return invalid_argument("[--quant] expected a scheme, got \"{}\"", build.quant);
  out.recipe = *recipe;
  // Random weights have no structure that k-means could find.
  out.recipe.quant.palette_mode = quant::PaletteMode::kUniform;
  ANEMONE_ASSIGN_OR_RETURN(out.form, ane::read_form(build.form));
  const probe::Sizes sizes = sizes_of(build);
  out.context = sizes.context;
  out.prefill = kPrefill;
  out.packages.layers = std::string("1");
  out.threads = options.threads;
  out.cancel = options.cancel;
  ANEMONE_RETURN_IF_ERROR(make_directories(checkpoint));
  ANEMONE_RETURN_IF_ERROR(probe::write_random_config(checkpoint, sizes, std::nullopt));
  ANEMONE_RETURN_IF_ERROR(probe::write_random_weights(checkpoint, sizes, options.seed));
  ANEMONE_ASSIGN_OR_RETURN(auto report, compiler::compile(checkpoint, target, out));
  return std::move(report.manifest);
}

// A package of the model with what the masks among its inputs are.
struct PackageRoles {
  std::string package;
  probe::Roles roles;
};

std::vector<PackageRoles> packages_of(const artifact::Manifest& manifest) {
  std::vector<PackageRoles> out;
  for (const artifact::Shard& shard : manifest.shards) {
    PackageRoles& each = out.emplace_back(PackageRoles{shard.package, {}});
    for (const artifact::Port& port : shard.inputs)
      if (port.role != artifact::PortRole::kHidden) each.roles[port.name] = port.role;
  }
  for (const std::span<const artifact::Head> heads : manifest.head_packages())
    out.push_back({heads.front().package, {}});
  return out;
}

// Checks every function of a package by itself.
Status check_functions(const Pair& pair, const std::string& folder, const PackageRoles& package,
                       const Options& options, BuildResult& result) {
  const std::string path = folder + "/" + package.package;
  ANEMONE_ASSIGN_OR_RETURN(const auto program,
                           pair.reference.load(path, {.functions = {}, .when_first_run = true}));
  for (const std::string& function : program->functions()) {
    if (options.cancel != nullptr && *options.cancel) return cancelled("[selftest] interrupted");
    FunctionResult& each = result.functions.emplace_back();
    each.package = package.package;
    each.function = function;
    ANEMONE_ASSIGN_OR_RETURN(
        const InputTensors inputs,
        make_inputs(*program->signature(function), package.roles, options.seed + 17));
    const auto errors = compare(pair, path, function, inputs);
    if (errors.status().code() == Code::kInternal) return errors.status();
    if (errors.ok())
      each.error = largest(*errors);
    else
      each.failure = errors.status().message();
    if (each.passed()) continue;
    ANEMONE_ASSIGN_OR_RETURN(
        each.first, find_first_difference(pair, path, function, inputs, kTolerance,
                                          {options.scratch, options.forget, options.cancel}));
  }
  return {};
}

// The logits after a prompt and after each of some tokens, one after the other.
Result<std::vector<float>> logits_of(engine::Session& session, const Ids& prompt, const Ids& more) {
  ANEMONE_RETURN_IF_ERROR(session.prefill(prompt));
  std::vector<float> out(session.logits().begin(), session.logits().end());
  for (const std::int32_t id : more) {
    ANEMONE_ASSIGN_OR_RETURN(const auto logits, session.decode(id));
    out.insert(out.end(), logits.begin(), logits.end());
  }
  return out;
}

Result<std::unique_ptr<engine::Session>> session_of(exec::Executor& executor,
                                                    const std::string& folder) {
  engine::ModelLoadOptions load;
  load.load_text = false;
  ANEMONE_ASSIGN_OR_RETURN(auto model, engine::Model::load(folder, executor, load));
  return engine::Session::create(std::move(model));
}

// The median time of a step of one token.
Result<double> time_decode(engine::Session& session, std::uint64_t seed) {
  std::vector<double> seconds;
  for (const std::int32_t id : ids_of(kTimedTokens, seed)) {
    const Clock::time_point start = Clock::now();
    ANEMONE_RETURN_IF_ERROR(session.decode(id).status());
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::ranges::nth_element(seconds, seconds.begin() + kTimedTokens / 2);
  return seconds[kTimedTokens / 2] * 1e3;
}

// What the tested executor makes of the whole model; its errors are its own.
Status check_tested(exec::Executor& executor, const std::string& folder,
                    const std::vector<float>& expected, const Options& options,
                    BuildResult& result) {
  ANEMONE_ASSIGN_OR_RETURN(const auto session, session_of(executor, folder));
  if (options.place) {
    auto placement = options.place(session->model());
    if (placement.ok())
      result.placement = *std::move(placement);
    else
      result.placement_failure = placement.status().message();
  }
  ANEMONE_ASSIGN_OR_RETURN(const std::vector<float> got,
                           logits_of(*session, ids_of(kPromptTokens, options.seed),
                                     ids_of(kNewTokens, options.seed + 1)));
  result.logits_error = relative_error(got, expected);
  ANEMONE_ASSIGN_OR_RETURN(result.decode_ms, time_decode(*session, options.seed + 2));
  return {};
}

Result<BuildResult> check_build(const Pair& pair, const Build& build, const Options& options) {
  BuildResult result;
  result.build = build;
  const std::string folder = options.scratch + "/model";
  const std::string checkpoint = options.scratch + "/checkpoint";
  std::error_code ignored;
  for (const std::string& path : {folder, checkpoint}) fs::remove_all(path, ignored);
  ANEMONE_ASSIGN_OR_RETURN(const artifact::Manifest manifest,
                           make(build, checkpoint, folder, options));
  for (const PackageRoles& package : packages_of(manifest))
    ANEMONE_RETURN_IF_ERROR(check_functions(pair, folder, package, options, result));
  std::vector<float> expected;
  {
    ANEMONE_ASSIGN_OR_RETURN(const auto session, session_of(pair.reference, folder));
    ANEMONE_ASSIGN_OR_RETURN(expected, logits_of(*session, ids_of(kPromptTokens, options.seed),
                                                 ids_of(kNewTokens, options.seed + 1)));
  }
  if (const Status status = check_tested(pair.tested, folder, expected, options, result);
      !status.ok())
    result.failure = status.message();
  return result;
}

}  // namespace

std::vector<std::string_view> quant_names() {
  return {std::begin(kQuants), std::end(kQuants)};
}

std::vector<Build> all_builds(bool has_large) {
  std::vector<Build> out;
  for (const bool is_large : {false, true}) {
    if (is_large && !has_large) break;
    for (const ane::NamedForm& form : ane::named_forms())
      for (const std::string_view quant : kQuants)
        out.push_back({std::string(form.name), std::string(quant), is_large});
  }
  return out;
}

probe::Sizes sizes_of(const Build& build) {
  probe::Sizes out;
  out.layers = 4;
  out.tokens = kPrefill;
  if (build.is_large) return out;
  out.layers = 2;
  out.hidden = 64;
  out.intermediate = 128;
  out.heads = 4;
  out.kv_heads = 2;
  out.context = 64;
  return out;
}

bool BuildResult::passed() const {
  return failure.empty() && logits_error <= kTolerance &&
         std::ranges::all_of(functions, &FunctionResult::passed);
}

bool Results::passed() const {
  return std::ranges::all_of(builds, &BuildResult::passed);
}

Result<Results> run(const Pair& pair, const Options& options) {
  Results out;
  out.executor = pair.tested.name();
  out.reference = pair.reference.name();
  out.seed = options.seed;
  for (const Build& build : options.builds) {
    if (options.cancel != nullptr && *options.cancel) return cancelled("[selftest] interrupted");
    if (options.progress)
      options.progress(out.builds.size(), options.builds.size(), name_of(build));
    auto result = check_build(pair, build, options).with(name_of(build));
    if (options.forget) options.forget();
    if (!result.ok()) return result.status();
    out.builds.push_back(*std::move(result));
  }
  return out;
}

}  // namespace anemone::selftest
