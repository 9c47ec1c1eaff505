from chatcli.cli.model_tables import Row, as_table


def test_columns_are_aligned_and_safe() -> None:
    """Sizes to the right, control characters visible, no trailing blanks."""
    rows = [
        Row("a:1b", "available", 98_000_000, source="hf.co/u/r"),
        Row("much-longer:7b", "installed", 4_700_000_000, source="evil\x1b[2J"),
    ]
    assert as_table(rows).splitlines() == [
        "NAME              SIZE  STATE",
        "a:1b             98 MB  available  hf.co/u/r",
        "much-longer:7b  4.7 GB  installed  evil\u241b[2J",
    ]
