// SPDX-License-Identifier: Apache-2.0
#include "cli/predict.h"

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "api/executors.h"
#include "base/error.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/jsonl_loop.h"
#include "cli/output.h"
#include "cli/predict_values.h"

namespace anemone::cli {
namespace {

struct PredictFlags {
  PredictRequest request;
  bool is_server = false;
  bool is_explain = false;
  bool is_json = false;
  bool prints = false;
};

// One JSON object per line in, one per line out; a bad request is answered and the next one is
// read.
Status serve(PredictSession& session, const PredictRequest& defaults) {
  return answer_raw_lines([&](const Result<std::string>& line) -> Json {
    const auto request =
        line.ok() ? parse_predict_request(*line, defaults) : Result<PredictRequest>(line.status());
    const Status status = request.ok() ? session.run(*request) : request.status();
    if (status.ok()) return {{"ok", true}};
    std::string text = error_line(status.message());
    text.pop_back();
    return {{"ok", false}, {"error", text.substr(std::string_view("anemone: ").size())}};
  });
}

Status run_predict(const PredictFlags& options, const Context& context) {
  const PredictRequest& request = options.request;
  if (options.is_server)
    for (const auto& [is_given, flag] : {std::pair(options.is_explain, "--explain"),
                                         {options.prints, "--print"},
                                         {!request.fill.empty(), "--fill"},
                                         {!request.values.empty(), "--input"}})
      if (is_given)
        return invalid_argument("[--serve] cannot be combined with {} (see anemone predict --help)",
                                flag);
  if (options.is_json && options.is_explain && options.prints)
    return invalid_argument(
        "[--json] works with --explain or with --print, not with both (see anemone predict "
        "--help)");
  if (!request.fill.empty()) ANEMONE_RETURN_IF_ERROR(check_fill(request.fill));
  // Before the package, which may take a while to load.
  for (const std::string& value : request.values)
    ANEMONE_RETURN_IF_ERROR(parse_given_value(value).status());
  ANEMONE_ASSIGN_OR_RETURN(auto executor, api::make_executor(context.executor()));
  PredictSession session(std::move(executor), options.is_explain);
  if (options.is_server) return serve(session, options.request);
  if (request.package.empty())
    return invalid_argument("expected a package, got none (see anemone predict --help)");
  if (request.inputs.empty() && request.values.empty() && request.fill.empty())
    return invalid_argument(
        "expected --input NAME=VALUE, --inputs FILE or --fill, got none (see anemone predict "
        "--help)");
  const bool prints =
      options.prints || (!options.is_explain && (options.is_json || request.outputs.empty()));
  Report report;
  ANEMONE_RETURN_IF_ERROR(session.run(request, prints ? &report : nullptr));
  if (prints)
    ANEMONE_RETURN_IF_ERROR(options.is_json ? print_json(report.json, 2)
                                            : print_report(report.text));
  if (!options.is_explain) return {};
  ANEMONE_ASSIGN_OR_RETURN(const bench::PlanReport plan, session.plan(request));
  return options.is_json ? print_json(plan.json(), 2) : print_report(plan.text());
}

}  // namespace

void add_predict_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<PredictFlags>();
  CLI::App* command =
      app.add_subcommand("predict", "Run a function of a Core ML package on given inputs");
  command->add_option("PKG", options->request.package, "The .mlpackage, .mlmodelc or .mlmodel");
  command
      ->add_option(
          "--input", options->request.values,
          "NAME=VALUE, once for each input; VALUE is FILE.npy, FILE.png[:fit] or FILE.jpg[:fit] "
          "for an image, zeros, ones or random[:SEED], each with [:SHAPE] as in ones:1x8, or "
          "numbers with commas between")
      ->allow_extra_args(false);
  context.words[command->add_option(
      "--fill", options->request.fill,
      "zeros, ones or random[:SEED] for each input that is not given otherwise")] = {
      {"zeros", "ones", "random"}};
  command->add_option("--inputs", options->request.inputs,
                      "safetensors file with tensors for inputs, each in the dtype that the "
                      "package declares");
  command->add_option("--outputs", options->request.outputs,
                      "File to write the outputs to: FILE.safetensors, FILE.npy for the one output "
                      "of a function that has no other, or FILE.png for the image");
  command->add_flag("--print", options->prints,
                    "Print the shape, the range and the first values of each output; for a "
                    "classifier, its most probable classes. The default without --outputs and "
                    "--explain");
  command->add_option("--function", options->request.function,
                      "Function to run (default: the package's default function)");
  command->add_option("--state-in", options->request.state_in,
                      "safetensors file with the states before the run (default: zeros)");
  command->add_option("--state-out", options->request.state_out,
                      "safetensors file to write the states after the run to");
  command->add_flag(
      "--serve", options->is_server,
      "Read one JSON request per line from stdin; the flags are defaults for its fields");
  command->add_flag(
      "--explain", options->is_explain,
      "Print the execution plan: fused operations, bytes, FLOPs and time of each step");
  command->add_flag(
      "--json", options->is_json,
      "Machine-readable output: all values of each output, or with --explain the plan");
  command->footer(
      "Tensors are keyed by feature name. A scalar has the shape [1], an image [1, C, H, W]; the\n"
      "dictionary of a classifier holds the probabilities in class order. States are keyed by "
      "name.\n"
      "\n"
      "The values of --input are converted: integers where the input's type holds them exactly, "
      "floats to the nearest value of a narrower type, floats to integers where they are whole. "
      "Numbers with commas, and arrays that differ in dimensions of one alone, take the shape of "
      "the input. random gives floats in 0..1, 0 or 1 for integers, and 0..255 for pictures. "
      "A JPEG file stands as its Exif orientation says. A picture has the size of the input, or "
      ":fit takes the largest part in its middle, scaled, blended with white where it is "
      "transparent. inspect shows what the inputs are.\n"
      "\n"
      "Examples:\n"
      "  anemone predict classifier.mlpackage --input image=cat.jpg:fit\n"
      "  anemone predict model.mlpackage --input x=x.npy --input scale=0.5 --json\n"
      "  anemone predict model.mlpackage --input ids=1,2,3 --fill zeros --outputs y.npy\n"
      "  anemone predict model.mlpackage --inputs in.safetensors --outputs out.safetensors\n"
      "  anemone predict shard.mlpackage --function decode --inputs x.safetensors --outputs "
      "y.safetensors \\\n"
      "      --state-in before.safetensors --state-out after.safetensors\n"
      "  echo "
      "'{\"package\":\"m.mlpackage\",\"inputs\":\"in.safetensors\",\"outputs\":\"out.safetensors\"}"
      "' |\n"
      "      anemone predict --serve");
  command->callback([options, &context] {
    context.action = [options, &context] { return run_predict(*options, context); };
  });
}

}  // namespace anemone::cli
