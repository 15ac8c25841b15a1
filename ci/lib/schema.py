#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Validates scenario files against the JSON Schema, as they are written and cell by cell.

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


def fits(cell, labels):
    """Whether a cell has each label, or one of the list."""
    return all(cell[name] in (label if isinstance(label, list) else [label])
               for name, label in labels.items())


def cells(scenario):
    """The combinations of the matrix, as (dimension: label) and (variable: value)."""
    matrix, found = scenario.get("matrix", {}), [({}, {})]
    for name, labels in matrix.items():
        values = labels if isinstance(labels, dict) else {label: {} for label in labels}
        found = [({**cell, name: label},
                  {**variables, name: label, **{f"{name}.{key}": value for key, value in more.items()}})
                 for cell, variables in found for label, more in values.items()]
    return [one for one in found
            if not any(fits(one[0], labels) for labels in scenario.get("except", []))]


def typed(value):
    """A variable that is a whole scalar, typed by its text: the reader replaces before it types."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return yaml.load(text, Loader) if re.fullmatch(r"true|false|-?[0-9]+", text) else text


def applied(value, cell, variables):
    """What `value` is in a cell: variables replaced, what exists only elsewhere left out."""
    if isinstance(value, str):
        whole = re.fullmatch(r"\$\{([^}]*)\}", value)
        if whole:
            return typed(variables[whole[1]])
        return re.sub(r"\$\{([^}]*)\}", lambda name: str(variables[name[1]]), value)
    if isinstance(value, list):
        return [applied(one, cell, variables) for one in value if exists(one, cell)]
    if isinstance(value, dict):
        return {applied(key, cell, variables): applied(one, cell, variables)
                for key, one in value.items() if key != "only" and exists(one, cell)}
    return value


def exists(value, cell):
    return not isinstance(value, dict) or "only" not in value or fits(cell, value["only"])


def expanded(scenario):
    """The scenario once a cell, without variables; as it stands when it has no matrix."""
    if not isinstance(scenario, dict) or "matrix" not in scenario:
        return [("", scenario)]
    kept = {key: value for key, value in scenario.items() if key in ("matrix", "except")}
    rest = {key: value for key, value in scenario.items() if key not in kept}
    return [(" [" + " ".join(f"{name}={label}" for name, label in cell.items()) + "]",
             {**kept, **applied(rest, cell, variables)}) for cell, variables in cells(scenario)]


def main():
    schema = json.loads(Path(sys.argv[1]).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator, wrong = jsonschema.Draft202012Validator(schema), 0
    paths = [one for path in map(Path, sys.argv[2:])
             for one in (sorted(path.rglob("*.yaml")) if path.is_dir() else [path])]
    for path in paths:
        written = yaml.load(path.read_text(), Loader)
        for cell, scenario in [(" as written", written)] + expanded(written):
            for error in validator.iter_errors(scenario):
                where = "/".join(map(str, error.absolute_path))
                print(f"{path}{cell}: {where}: {error.message[:200]}")
                wrong += 1
    print(f"schema: {len(paths)} files, {wrong} findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
