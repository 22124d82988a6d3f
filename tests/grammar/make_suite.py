#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes data/json_schema_suite.jsonl from the JSON-Schema-Test-Suite (MIT licence, see the first line of the file).

usage: make_suite.py JSONSCHEMA.tar.gz
  the source distribution of the PyPI package jsonschema 4.26.0, which holds the suite:
  pip download --no-binary :all: --no-deps jsonschema==4.26.0

Each line but the first is a group of the suite: the schema and its instances with whether they are valid. Left out are
groups about other documents (references by URL, vocabularies, dynamic scopes) and the optional parts about other drafts.
"""
import json
import pathlib
import sys
import tarfile

FOLDER = "/json/tests/draft2020-12/"
LEFT_OUT = {
    "refRemote.json", "vocabulary.json", "dynamicRef.json", "format.json",
    # unevaluated* and the conditional keywords are refused as a whole: the first groups of each suffice.
}
FIRST_GROUPS = {"unevaluatedItems.json": 2, "unevaluatedProperties.json": 2, "dependentSchemas.json": 1,
                "if-then-else.json": 2, "contains.json": 2, "maxContains.json": 1, "minContains.json": 1,
                "anchor.json": 1}
FORMATS = {"date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid", "regex"}
OPTIONAL = {"ecmascript-regex.json", "non-bmp-regex.json", "unknownKeyword.json", "bignum.json"}


def groups(archive):
    with tarfile.open(archive) as tar:
        for member in sorted(tar.getmembers(), key=lambda member: member.name):
            _, found, name = member.name.partition(FOLDER)
            if not found or not name.endswith(".json") or name in LEFT_OUT:
                continue
            path = pathlib.PurePosixPath(name)
            if path.parent.name == "format" and path.stem not in FORMATS:
                continue
            if path.parent.name == "optional" and path.name not in OPTIONAL:
                continue
            content = json.load(tar.extractfile(member))
            for group in content[:FIRST_GROUPS.get(name)]:
                text = json.dumps(group["schema"])
                if "http://localhost" not in text and '"$ref": "http' not in text and '"$ref": "urn' not in text:
                    yield name, group


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    lines = [json.dumps({
        "licence": "MIT, Copyright (c) 2012 Julian Berman. Permission is hereby granted, free of charge, to any person "
                   "obtaining a copy of this software and associated documentation files (the \"Software\"), to deal in "
                   "the Software without restriction, including without limitation the rights to use, copy, modify, "
                   "merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to "
                   "whom the Software is furnished to do so, subject to the following conditions: The above copyright "
                   "notice and this permission notice shall be included in all copies or substantial portions of the "
                   "Software. THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, "
                   "INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND "
                   "NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES "
                   "OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN "
                   "CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.",
        "source": "https://github.com/json-schema-org/JSON-Schema-Test-Suite"})]
    for name, group in groups(sys.argv[1]):
        lines.append(json.dumps({"file": name, "group": group["description"], "schema": group["schema"],
                                 "tests": [[test["description"], test["data"], test["valid"]]
                                           for test in group["tests"]]},
                                separators=(",", ":"), ensure_ascii=False))
    out = pathlib.Path(__file__).parent / "data" / "json_schema_suite.jsonl"
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
