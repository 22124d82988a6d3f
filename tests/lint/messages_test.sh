#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# errno_error() says "cannot" itself: "cannot cannot write" is what its callers must not make of it.
# usage: messages_test.sh SOURCE
set -eu

# Newlines become blanks, so that a call over several lines is one.
find "$1/src" "$1/include" -name '*.cc' -o -name '*.mm' -o -name '*.h' | while read -r file; do
  if tr '\n' ' ' <"$file" | grep -oE 'errno_error\([^;]*"cannot '; then
    echo "$file" && exit 1
  fi
done
