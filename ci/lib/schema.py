#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Validates scenario files against the JSON Schema.

usage: schema.py SCHEMA PATH...     exit 0 all valid, 1 some are not, 77 python3-jsonschema is missing"""

import json
import re
import sys
from pathlib import Path

try:
    import jsonschema
    import yaml
except ImportError as error:
    print(f"schema: {error}")
    sys.exit(77)


class Loader(yaml.SafeLoader):
    """YAML 1.2's core types: `on` is a word, 0x10 is text that a field reads."""


Loader.yaml_implicit_resolvers = {}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^-?(?:0|[1-9][0-9]*)$"),
                             list("-0123456789"))


def main():
    schema = json.loads(Path(sys.argv[1]).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator, wrong = jsonschema.Draft202012Validator(schema), 0
    paths = [one for path in map(Path, sys.argv[2:])
             for one in (sorted(path.rglob("*.yaml")) if path.is_dir() else [path])]
    for path in paths:
        for error in validator.iter_errors(yaml.load(path.read_text(), Loader)):
            where = "/".join(map(str, error.absolute_path))
            print(f"{path}: {where}: {error.message[:200]}")
            wrong += 1
    print(f"schema: {len(paths)} files, {wrong} findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
