#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs a build below a folder with a prefix of its own: the service names the program and the file of its flags where
# they lie then.
# usage: install_test.sh BUILD CMAKE
set -eu

build=$1
cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "install_test: $1" >&2; exit 1; }

check() {
  prefix=$1 settings=$2
  DESTDIR="$work" "$cmake" --install "$build" --prefix "$prefix" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  unit=$work$prefix/lib/systemd/system/anemone.service
  program=$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$unit")
  [ "$program" = "$prefix/bin/anemone" ] || fail "expected the service to start $prefix/bin/anemone, got $program"
  [ -x "$work$program" ] || fail "expected a program at $program"
  file=$(sed -n 's/^EnvironmentFile=//p' "$unit")
  [ "$file" = "$settings/serve.env" ] || fail "expected the flags in $settings/serve.env, got $file"
  [ -s "$work$file.example" ] || fail "expected an example at $file.example"
  [ -s "$work$prefix/share/man/man1/anemone-serve.1" ] || fail "expected the manual page of serve"
}
check /usr /etc/anemone
check /opt/anemone /opt/anemone/etc/anemone
