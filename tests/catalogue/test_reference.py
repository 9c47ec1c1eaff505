from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from chatcli import paths
from chatcli.catalogue.entries import HubSource, UrlSource
from chatcli.catalogue.index import Installed, record, stamped
from chatcli.catalogue.reference import Downloadable, locate
from chatcli.core.errors import ModelNotFound, UsageError
from tests.gguf.made import small_gguf


def _offer(reference: str) -> Downloadable:
    found = locate(reference)
    assert isinstance(found, Downloadable)
    return found


@pytest.mark.parametrize(
    ("reference", "name", "source"),
    [
        ("hf.co/u/r", "hf.co/u/r", HubSource("u/r")),
        ("hf.co/u/r:Q8_0", "hf.co/u/r:Q8_0", HubSource("u/r", "", "Q8_0")),
        ("huggingface.co/u/r-1.5", "hf.co/u/r-1.5", HubSource("u/r-1.5")),
        ("hf://u/r", "hf.co/u/r", HubSource("u/r")),
        ("hf://u/r/a b.gguf", "hf.co/u/r/a b.gguf", HubSource("u/r", "a b.gguf")),
        ("hf://u/r/sub/m.gguf", "hf.co/u/r/sub/m.gguf", HubSource("u/r", "sub/m.gguf")),
        (
            "https://huggingface.co/u/r/resolve/main/m.gguf",
            "hf.co/u/r/m.gguf",
            HubSource("u/r", "m.gguf"),
        ),
        (
            "https://huggingface.co/u/r/blob/main/m.gguf",
            "hf.co/u/r/m.gguf",
            HubSource("u/r", "m.gguf"),
        ),
        ("https://huggingface.co/u/r/", "hf.co/u/r", HubSource("u/r")),
    ],
)
def test_places_on_the_hub(reference: str, name: str, source: HubSource) -> None:
    """Every usual way to write a place on the hub leads to one name."""
    found = _offer(reference)
    assert (found.name, found.sources) == (name, (source,))
    assert found.folder == paths.models_dir() / "hf.co" / source.repo


@pytest.mark.parametrize(
    "reference",
    ["hf.co/u", "hf.co/", "hf://u/../r", "hf.co/u/r/m.gguf:Q8_0", "hf.co/u/r/m.bin", "hf.co/-x/r"],
)
def test_what_is_no_place_on_the_hub_is_told(reference: str) -> None:
    """The hint shows the form."""
    with pytest.raises(UsageError, match=r"hf\.co/USER/REPO"):
        locate(reference)


def test_addresses_must_end_in_a_gguf_file() -> None:
    """A plain address is a source of its own; its folder cannot leave the models folder."""
    found = _offer("https://user@models.example:8080/x/m.gguf?download=true")
    assert found.sources == (UrlSource("https://user@models.example:8080/x/m.gguf?download=true"),)
    assert (found.file, found.folder.name) == ("m.gguf", "models.example-8080")
    with pytest.raises(UsageError, match="does not end"):
        locate("https://models.example/model")


def test_a_file_of_the_user_is_used_where_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative, absolute and ~ paths; the name is the full path, so that it holds everywhere."""
    path = small_gguf(tmp_path / "home" / "mine.gguf")
    monkeypatch.chdir(path.parent)
    for reference in ("mine.gguf", "./mine.gguf", str(path), "~/mine.gguf"):
        found = locate(reference)
        assert isinstance(found, Installed)
        assert (found.name, found.path, found.owned) == (str(path), path, False)
        assert found.unchanged()


def test_a_mistyped_file_is_told_with_its_neighbour(tmp_path: Path) -> None:
    """The hint names the file beside it that comes near; a folder is called a folder."""
    small_gguf(tmp_path / "model.gguf")
    with pytest.raises(ModelNotFound, match=r"Did you mean .*/model\.gguf\?"):
        locate(str(tmp_path / "modle.gguf"))
    with pytest.raises(ModelNotFound, match="a folder, not a file"):
        locate(str(tmp_path))


def test_names_aliases_and_beginnings() -> None:
    """The catalogue's models by every name they have."""
    for reference in ("smollm2:135m", "smollm2", "SmolLM2:135M"):
        assert _offer(reference).name == "smollm2:135m"
    found = _offer("gpt-oss")
    assert (found.name, found.sha256, found.folder.name) == ("gpt-oss:20b", "", "gpt-oss-20b")


def test_an_ambiguous_or_unknown_name_is_told() -> None:
    """The hint lists the candidates, or what comes near."""
    with pytest.raises(ModelNotFound, match=r"several models begin with 'qwen3:'.*qwen3:4b"):
        locate("qwen3:")
    with pytest.raises(ModelNotFound, match=r"Did you mean .*smollm2"):
        locate("smolm2")
    with pytest.raises(ModelNotFound, match="list --all"):
        locate("zzzzzzzz")
    with pytest.raises(UsageError, match="empty"):
        locate(" ")


def test_an_installed_model_is_found_until_its_file_is_gone() -> None:
    """The index is believed only as far as the file is there."""
    folder = paths.private_dir(paths.models_dir() / "smollm2-135m")
    path = small_gguf(folder / "x.gguf")
    record(stamped(Installed(name="smollm2:135m", parts=(path,), n_bytes=0, aliases=("smollm2",))))
    for reference in ("smollm2", "smollm2:135m", "smollm2:13"):
        found = locate(reference)
        assert isinstance(found, Installed)
        assert found.path == path
    path.unlink()
    assert isinstance(locate("smollm2"), Downloadable)


def test_an_installed_hub_model_is_found_by_every_spelling() -> None:
    """hf:// and hf.co/ mean the same model."""
    path = small_gguf(paths.private_dir(paths.models_dir()) / "x.gguf")
    record(stamped(Installed(name="hf.co/u/r", parts=(path,), n_bytes=0)))
    assert locate("hf://u/r") == locate("hf.co/u/r")
    assert isinstance(locate("hf://u/r"), Installed)


def test_a_path_source_of_the_user_is_used_in_place(
    tmp_path: Path, models_yaml: Callable[[str], Path]
) -> None:
    """A name for a file that is already here: nothing is copied."""
    path = small_gguf(tmp_path / "mine.gguf")
    models_yaml(
        f"models: {{mine:1b: {{file: mine.gguf, unverified: true, sources: [{{path: {path}}}]}}}}"
    )
    found = locate("mine")
    assert isinstance(found, Installed)
    assert (found.name, found.path, found.owned) == ("mine:1b", path, False)
    path.unlink()
    assert isinstance(locate("mine"), Downloadable)


def test_models_of_other_tools_are_found_by_name(own_home: Path) -> None:
    """With the tool's name in front, or without where that is clear."""
    folder = own_home / ".lmstudio" / "models" / "pub" / "repo"
    folder.mkdir(parents=True)
    path = small_gguf(folder / "m.gguf")
    for reference in ("lmstudio/pub/repo/m.gguf", "pub/repo/m.gguf"):
        if reference.startswith("lmstudio/"):
            found = locate(reference)
            assert isinstance(found, Installed)
            assert replace(found, mtime_ns=0).path == path
            assert not found.owned
