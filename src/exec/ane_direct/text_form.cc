// SPDX-License-Identifier: Apache-2.0
#include "exec/ane_direct/text_form.h"

#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "ir/text.h"
#include "mlpackage/blob.h"
#include "mlpackage/dtype_codes.h"

namespace anemone::exec::ane_direct {
namespace {

constexpr std::string_view kBuildInfo = "buildInfo";
constexpr int kFirstNewChip = 4;

}  // namespace

ir::Opset target_for(std::string_view chip) {
  constexpr std::string_view kFamily = "Apple M";
  if (!chip.starts_with(kFamily)) return ir::Opset::kIOS18;
  const std::string_view number = chip.substr(kFamily.size());
  int generation = kFirstNewChip;
  std::from_chars(number.data(), number.data() + number.size(), generation);
  return generation < kFirstNewChip ? ir::Opset::kIOS16 : ir::Opset::kIOS18;
}

// Versions that the private compiler is known to take.
void add_build_info(ir::Program& program) {
  program.attributes.insert_or_assign(
      std::string(kBuildInfo),
      ir::Literal::string_dictionary({{"coremlc-component-MIL", "3510.2.1"},
                                      {"coremlc-version", "3505.4.1"},
                                      {"coremltools-component-milinternal", ""},
                                      {"coremltools-version", "9.0"}}));
}

std::vector<WeightFile> ProgramText::weights() const {
  std::vector<WeightFile> out;
  for (std::size_t i = 0; i < files.size(); ++i) out.push_back({paths[i], files[i]});
  return out;
}

Result<ProgramText> write_text(const ir::Program& program, std::int64_t most_inline) {
  const auto& functions = program.functions();
  if (functions.size() != 1 || functions[0]->name != "main")
    return unsupported(
        "[program] expected one function, main, got {}",
        functions.size() == 1 ? functions[0]->name : fmt::format("{} functions", functions.size()));
  const ir::Function& main = *functions[0];
  if (main.opset != ir::Opset::kIOS16 && main.opset != ir::Opset::kIOS18)
    return unsupported("[program] expected the target ios16 or ios18, got {}",
                       opset_target(main.opset));
  if (!program.attributes.contains(kBuildInfo))
    return unsupported("[program] expected a {}, without which nothing compiles", kBuildInfo);
  ProgramText out;
  std::map<const ir::Data*, std::string> references;
  for (const ir::Op* op : main.block->ops) {
    const ir::Literal* literal = op->is_const() ? ir::constant_of(op->outputs[0]) : nullptr;
    if (literal == nullptr || literal->data() == nullptr) continue;
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t count,
                             checked_element_count(literal->type().shape));
    if (count <= most_inline || !mlpackage::blob_code(literal->type().dtype)) continue;
    if (references.contains(literal->data().get())) continue;
    ANEMONE_ASSIGN_OR_RETURN(const ir::DataBytes loaded, literal->data()->load());
    const std::string path = fmt::format("weights/{}.bin", op->outputs[0]->name);
    references.emplace(literal->data().get(), "@model_path/" + path);
    out.paths.push_back(path);
    out.files.push_back(mlpackage::make_blob_file(
        {literal->type().dtype, literal->type().shape, loaded.bytes.data()}));
  }
  out.mil = ir::print(program,
                      {.blob = [&](const ir::Literal& literal) -> std::optional<ir::BlobReference> {
                        const auto found = references.find(literal.data().get());
                        if (found == references.end()) return std::nullopt;
                        return ir::BlobReference{found->second, mlpackage::kFirstRecord};
                      }});
  return out;
}

}  // namespace anemone::exec::ane_direct
