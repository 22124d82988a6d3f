#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shows that tools/check_layers finds each kind of violation: small trees with one fault each.
# usage: layers_test.sh CHECK_LAYERS
set -eu

check=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

spdx='// SPDX-License-Identifier: Apache-2.0'

# A tree without faults, which each case then damages.
fresh() {
  rm -rf "$work/tree"
  mkdir -p "$work/tree/src/base" "$work/tree/src/tensor" "$work/tree/src/ir" "$work/tree/src/models" \
    "$work/tree/src/engine" "$work/tree/src/exec/cpu" "$work/tree/src/exec/coreml" "$work/tree/include/anemone"
  cat >"$work/tree/layers.txt" <<TABLE
# a comment
base:
tensor: base
ir: tensor base
models: ir tensor base
exec: tensor base
exec/cpu: exec ir tensor base
exec/coreml: exec tensor base
engine: exec tensor base
api: *
cli: api base
TABLE
  printf '%s\n#pragma once\n#include <vector>\n' "$spdx" >"$work/tree/src/base/file.h"
  printf '%s\n#pragma once\n#include "base/file.h"\n' "$spdx" >"$work/tree/src/tensor/shape.h"
  printf '%s\n#include "exec/cpu/plan.h"\n#include "exec/executor.h"\n#include "ir/op.h"\n' "$spdx" \
    >"$work/tree/src/exec/cpu/plan.cc"
  printf '%s\n#import <CoreML/CoreML.h>\n' "$spdx" >"$work/tree/src/exec/coreml/run.mm"
  printf '%s\n#pragma once\n#include <anemone/status.h>\n' "$spdx" >"$work/tree/include/anemone/engine.h"
}

# expect STATUS TEXT WHAT: runs the check on the tree.
expect() {
  status=0
  output=$("$check" "$work/tree" "$work/tree/layers.txt" 2>&1) || status=$?
  if [ "$status" -ne "$1" ] || ! printf '%s\n' "$output" | grep -qF -- "$2"; then
    failed=1
    printf 'FAILED: %s\n  expected exit %s and "%s", got exit %s and:\n%s\n' "$3" "$1" "$2" "$status" "$output"
  else
    printf 'ok: %s\n' "$3"
  fi
}
table() { sed "s|^$1:.*|$2|" "$work/tree/layers.txt" >"$work/t" && mv "$work/t" "$work/tree/layers.txt"; }
source_file() { printf '%s\n%s\n' "$spdx" "$2" >"$work/tree/src/$1"; }

fresh
expect 0 ' 0 violations' 'a lawful tree passes'

fresh; source_file base/file.cc '#include "tensor/shape.h"'
expect 1 'src/base/file.cc:2: base may not include tensor' 'an include that goes up is found'

fresh; source_file engine/session.cc '#include "models/llama.h"'
expect 1 'engine may not include models' 'the serving side including the compiling side is found'

fresh; source_file ir/op.cc '  #  include "models/llama.h"'
expect 1 'src/ir/op.cc:2: ir may not include models' 'spaces in the directive do not hide it'

fresh; source_file exec/executor.cc '#include "ir/op.h"'
expect 1 'exec may not include ir' 'a folder does not get the rights of the folders inside it'

fresh; source_file exec/cpu/steps.cc '#include "models/llama.h"'
expect 1 'exec/cpu may not include models' 'a folder inside a module has its own rules'

fresh; source_file tensor/shape.cc '#include "shape.h"'
expect 1 'expected an include by full path' 'an include without its module is found'

fresh; source_file tensor/shape.cc '#include "../base/file.h"'
expect 1 'expected an include by full path' 'a relative include is found'

fresh; mkdir "$work/tree/src/extra"; source_file extra/new.cc '#include <vector>'
expect 1 'its folder is no module' 'a module that the table does not know is found'

fresh; table base 'base: ir'
expect 1 'cycle' 'a cycle in the table is found'

fresh; table engine 'engine: exec models tensor base'
expect 1 'the serving side reaches the compiling side: engine -> models' 'a table that opens the wall is found'

fresh; table exec/cpu 'exec/cpu: exec ir api'
expect 1 'the serving side reaches the compiling side: exec/cpu -> models' 'an opening through a third module is found'

fresh; table ir 'ir: tensors base'
expect 1 'ir may include tensors, which is no module' 'a misspelt module in the table is found'

fresh; source_file engine/metal.mm '#import <Metal/Metal.h>'
expect 1 '.mm files live in src/exec/coreml and src/exec/ane_direct only' 'Objective-C++ outside its folder is found'

fresh; printf '%s\n' "$spdx" >"$work/tree/src/ir/op.h"
expect 1 'src/ir/op.h:1: expected #pragma once' 'a header without #pragma once is found'

fresh; printf '#include <vector>\n' >"$work/tree/src/ir/op.cc"
expect 1 'src/ir/op.cc:1: expected "SPDX' 'a source without the licence line is found'

fresh; mkdir "$work/tree/tools"; printf '#!/bin/sh\necho\n' >"$work/tree/tools/make-it"
expect 1 'tools/make-it:1: expected "SPDX' 'a script without the licence line is found'

fresh; printf '%s\n#pragma once\n#include "base/file.h"\n' "$spdx" >"$work/tree/include/anemone/engine.h"
expect 1 'a public header may include <...> only' 'a public header that needs a private one is found'

fresh; rm -r "$work/tree/src"; mkdir "$work/tree/src"
expect 1 'expected source files under src/' 'an empty tree does not pass by accident'

expect_usage() {
  status=0
  "$check" "$1" >/dev/null 2>&1 || status=$?
  [ "$status" -eq 2 ] && echo "ok: $2" || { echo "FAILED: $2: exit $status"; failed=1; }
}
expect_usage "$work/nowhere" 'a folder that is no source tree is refused'

exit $failed
