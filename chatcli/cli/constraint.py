"""`--schema` and `--grammar`: what an answer must match, read from the command line."""

import json

from chatcli.cli.inputs import read_file
from chatcli.core.errors import ConstraintError, UsageError
from chatcli.core.ports import Constraint


def read_constraint(schema: str | None, grammar: str | None) -> Constraint | None:
    """Return the constraint named on the command line.

    `schema` is a file, or the schema itself where it begins with a brace; `grammar` a file.

    Raises:
        UsageError: both were given.
        InputError: a file cannot be read.
        ConstraintError: a schema is not JSON, or neither an object nor true or false.
    """
    if schema is not None and grammar is not None:
        raise UsageError("--schema and --grammar cannot go together", "Leave out one of them")
    if grammar is not None:
        text = read_file(grammar).text
        if not text.strip():
            raise ConstraintError(
                f"the grammar {grammar} is empty", "It needs a rule: root ::= ..."
            )
        return Constraint("grammar", text)
    if schema is None:
        return None
    inline = schema.lstrip().startswith(("{", "["))
    text = schema if inline else read_file(schema).text
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        what = "the schema" if inline else f"the schema {schema}"
        raise ConstraintError(
            f"{what} is not JSON: {error}", "Check it with a JSON tool"
        ) from error
    if not isinstance(found, dict | bool):
        raise ConstraintError(
            f"a schema is a JSON object, not {type(found).__name__}",
            'As in: --schema \'{"type": "object"}\'',
        )
    return Constraint("schema", text)
