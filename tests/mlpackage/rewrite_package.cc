// SPDX-License-Identifier: Apache-2.0
// Reads a package and writes it again, for tests/interop: coremltools then compares the two.
// usage: rewrite_package IN.mlpackage OUT.mlpackage
#include <cstdio>

#include "mlpackage/package_reader.h"
#include "mlpackage/package_writer.h"
#include "ops/registry.h"

int main(int argc, char** argv) {
  using namespace anemone;
  if (argc != 3) {
    std::fprintf(stderr, "usage: rewrite_package IN.mlpackage OUT.mlpackage\n");
    return 2;
  }
  Status status;
  if (const auto model = mlpackage::read_package(argv[1]); model.ok()) {
    mlpackage::WriteOptions options;
    options.registry = &ops::op_registry();
    options.stamp = false;
    status = mlpackage::write_package(*model, argv[2], options).status();
  } else {
    status = model.status();
  }
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
