// SPDX-License-Identifier: Apache-2.0
#include "ops/registry.h"

#include <map>

#include "base/check.h"
#include "ops/categories.h"

namespace anemone::ops {
namespace {

class Registry : public ir::OpRegistry {
 public:
  Registry() {
    std::vector<ir::OpSchema> schemas;
    for (auto add : {add_elementwise, add_reduction, add_shape, add_linear, add_norm, add_constexpr,
                     add_indexing, add_state, add_control, add_pool, add_image, add_recurrent,
                     add_random, add_quantization})
      add(schemas);
    for (ir::OpSchema& schema : schemas) {
      const std::string_view name = schema.name;
      ANEMONE_CHECK(schemas_.emplace(name, std::move(schema)).second);
    }
  }
  const ir::OpSchema* find(std::string_view type) const override {
    const auto it = schemas_.find(type);
    return it == schemas_.end() ? nullptr : &it->second;
  }
  std::vector<std::string_view> names() const override {
    std::vector<std::string_view> out;
    for (const auto& [name, schema] : schemas_) out.push_back(name);
    return out;
  }

 private:
  std::map<std::string_view, ir::OpSchema> schemas_;
};

}  // namespace

const ir::OpRegistry& op_registry() {
  static const Registry registry;
  return registry;
}

}  // namespace anemone::ops
