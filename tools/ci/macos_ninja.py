# SPDX-License-Identifier: Apache-2.0
"""Turns a compile_commands.json of Linux into a build.ninja that compiles the same sources for macOS and links them."""
import argparse
import json
import os
import shlex
import sys


def escape(path):
    return path.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")


def own_flags(arguments, root):
    """Definitions, our own include folders; flags of the host's processor and libraries are left out."""
    kept = []
    it = iter(arguments)
    for argument in it:
        if argument in ("-I", "-D"):
            argument += next(it)
        if argument == "-isystem":
            argument = "-I" + next(it)
        if argument.startswith("-D"):
            kept.append(argument)
        elif argument.startswith("-I") and os.path.abspath(argument[2:]).startswith(root):
            kept.append(argument)
    return kept


def main():
    parser = argparse.ArgumentParser()
    for name in ("commands", "root", "include", "zig", "out"):
        parser.add_argument("--" + name, required=True)
    args = parser.parse_args()
    root = os.path.abspath(args.root) + os.sep
    with open(args.commands) as file:
        entries = json.load(file)

    # zig adds a sanitizer to builds without optimisation.
    compiler = args.zig + " c++ -target aarch64-macos.14.0 -fno-sanitize=undefined"
    # Without modules: with them, math.h of macOS includes float.h for two macros alone, and the include guard of libc++
    # then leaves either these or the others undefined.
    lines = [
        "rule cxx",
        f"  command = {compiler} -std=c++20 -O0 -Wall -Wextra -ffp-contract=off -fno-cxx-modules $flags "
        f"-isystem {args.include} "
        "-MD -MF $out.d -c $in -o $out",
        "  depfile = $out.d",
        "  deps = gcc",
        "  description = $in",
        "",
        "rule link",
        f"  command = {compiler} @$out.rsp -Wl,-undefined,dynamic_lookup -o $out",
        "  rspfile = $out.rsp",
        "  rspfile_content = $in_newline",
        "",
    ]
    sources = set()
    objects = []
    for entry in entries:
        path = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
        relative = os.path.relpath(path, root)
        # Our sources, and what the build generates from them (protobuf).
        if not (relative.startswith("src/") or relative.startswith("build/macos-sources/src/")) or path in sources:
            continue
        sources.add(path)
        arguments = entry.get("arguments") or shlex.split(entry["command"])
        flags = [shlex.quote(flag).replace("$", "$$") for flag in own_flags(arguments, root)]
        objects.append(escape(relative) + ".o")
        lines.append(f"build {objects[-1]}: cxx {escape(path)}")
        lines.append("  flags = " + " ".join(flags))
    if not sources:
        sys.exit("macos_ninja: expected sources under src/ in " + args.commands)
    lines.append("build anemone: link " + " ".join(objects))
    text = "\n".join(lines) + "\n"
    # An unchanged file keeps its time, so that ninja does not start over.
    if not os.path.exists(args.out) or open(args.out).read() != text:
        with open(args.out, "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
