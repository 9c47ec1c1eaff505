"""`--schema` and `--grammar` are read, or refused with a reason."""

from pathlib import Path

import pytest

from chatcli.cli.constraint import read_constraint
from chatcli.core.errors import ConstraintError, InputError, UsageError
from chatcli.core.ports import Constraint


def test_a_schema_is_a_file_or_the_text_itself(tmp_path: Path) -> None:
    """A text that begins with a brace is no file name."""
    file = tmp_path / "s.json"
    file.write_text('{"type": "array"}', encoding="utf-8")
    assert read_constraint(str(file), None) == Constraint("schema", '{"type": "array"}')
    assert read_constraint(' {"a": 1}', None) == Constraint("schema", ' {"a": 1}')
    assert read_constraint(None, None) is None


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ("{", "the schema is not JSON"),
        ("[1]", "a JSON object, not list"),
        ("{" + '"a":{' * 100_000, "not JSON"),
    ],
)
def test_a_schema_that_is_none_is_refused(schema: str, said: str) -> None:
    """With what is wrong, never a traceback."""
    with pytest.raises(ConstraintError, match=said):
        read_constraint(schema, None)


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    """Missing, broken and empty files."""
    broken = tmp_path / "b.json"
    broken.write_text("nope", encoding="utf-8")
    empty = tmp_path / "e.gbnf"
    empty.write_text("\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"cannot read .*gone"):
        read_constraint(str(tmp_path / "gone"), None)
    with pytest.raises(ConstraintError, match=r"the schema .*b\.json is not JSON"):
        read_constraint(str(broken), None)
    with pytest.raises(ConstraintError, match="empty"):
        read_constraint(None, str(empty))
    with pytest.raises(UsageError, match="cannot go together"):
        read_constraint("{}", str(empty))
