#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Drives tools/install-deps with fake packagers: what it asks for, when, and that it stays off the network
# when nothing is missing.
# usage: install_deps_test.sh INSTALL_DEPS
set -eu

install_deps=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# Fake tools that write down how they were called. MISSING names the packages that are not installed.
mkdir "$work/bin"
fake() { cat >"$work/bin/$1" && chmod +x "$work/bin/$1"; }
fake uname <<'SH'
#!/bin/sh
echo "${FAKE_SYSTEM:-Linux}"
SH
fake id <<'SH'
#!/bin/sh
echo "${FAKE_USER:-0}"
SH
fake dpkg-query <<'SH'
#!/bin/sh
for package; do :; done
case " $MISSING " in *" $package "*) exit 1 ;; esac
printf installed
SH
fake apt-get <<'SH'
#!/bin/sh
echo "apt-get $*" >>"$CALLS"
echo "noise of the packager"
case " $* " in *" update "*) exit ${UPDATE_STATUS:-0} ;; esac
exit ${INSTALL_STATUS:-0}
SH
fake sudo <<'SH'
#!/bin/sh
echo "sudo $1" >>"$CALLS"
exec "$@"
SH
fake xcode-select <<'SH'
#!/bin/sh
SH
fake brew <<'SH'
#!/bin/sh
if [ "$1" = list ]; then
  case " $MISSING " in *" $3 "*) exit 1 ;; esac
  exit 0
fi
echo "brew $*" >>"$CALLS"
SH

# run [NAME=VALUE...] -- ARGUMENTS: leaves $output, $status and $calls behind.
run() {
  : >"$work/calls"
  settings=
  while [ "$1" != -- ]; do settings="$settings $1"; shift; done
  shift
  status=0
  output=$(env PATH="$work/bin:$PATH" CALLS="$work/calls" MISSING="$missing" $settings "$install_deps" "$@" 2>&1) ||
    status=$?
  calls=$(cat "$work/calls")
}
check() {
  if eval "$2"; then
    printf 'ok: %s\n' "$1"
  else
    failed=1
    printf 'FAILED: %s\n  exit %s, output:\n%s\n  calls:\n%s\n' "$1" "$status" "$output" "$calls"
  fi
}
has() { case $1 in *"$2"*) return 0 ;; esac; return 1; }

missing=
run --
check 'nothing missing: no packager runs' '[ "$status" -eq 0 ] && [ -z "$calls" ] && has "$output" "everything is installed"'

missing='ninja-build libfmt-dev'
run --
check 'only what is missing is installed' \
  'has "$calls" "--no-install-recommends ninja-build libfmt-dev" && has "$output" "installing ninja-build libfmt-dev"'
check 'the lists are refreshed before that' 'has "$calls" "apt-get -q update"'

run UPDATE_STATUS=100 --
check 'lists that cannot be refreshed do not stop it' '[ "$status" -eq 0 ] && has "$calls" "ninja-build"'

run INSTALL_STATUS=100 --
check 'a failed installation fails and names the packages' \
  '[ "$status" -eq 1 ] && has "$output" "could not install all of: ninja-build libfmt-dev"'

run FAKE_USER=1000 --
check 'without root rights it goes through sudo' 'has "$calls" "sudo env"'

run -- --log "$work/log"
check 'the noise goes into the log' '! has "$output" noise && grep -q noise "$work/log"'

missing='libgtest-dev'
run --
check 'without --tests GoogleTest is not wanted' '[ -z "$calls" ]'
run -- --tests
check 'with --tests it is' 'has "$calls" libgtest-dev'

missing='python3-venv'
run -- --interop
check 'with --interop Python is wanted' 'has "$calls" python3-venv'

missing='clang'
run -- --ci
check 'with --ci clang is wanted' 'has "$calls" clang'

missing=simdjson
run FAKE_SYSTEM=Darwin --
check 'on macOS the missing formula is brewed' 'has "$calls" "brew install simdjson"'

run -- --what
check 'an unknown option is a usage error' '[ "$status" -eq 2 ] && [ -z "$calls" ]'

exit $failed
