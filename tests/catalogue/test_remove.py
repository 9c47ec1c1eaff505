from pathlib import Path

import pytest

from chatcli import paths
from chatcli.catalogue.index import Installed, find_installed, record, stamped
from chatcli.catalogue.remove import Removal, plan_removal, remove
from chatcli.core.errors import ModelNotFound, UsageError
from tests.gguf.made import small_gguf


def _install(path: Path, *, owned: bool = True) -> Installed:
    paths.private_dir(path.parent)
    small_gguf(path)
    model = stamped(Installed(name="smollm2:135m", parts=(path,), n_bytes=0, owned=owned))
    record(model)
    return model


def test_files_entry_and_empty_folder_go() -> None:
    """Nothing of a removed model is left but the models folder itself."""
    model = _install(paths.models_dir() / "hf.co" / "u" / "w.gguf")
    removal = plan_removal("smollm2:135m")
    assert removal == Removal("smollm2:135m", [model.path], model.n_bytes)
    remove(removal)
    assert find_installed("smollm2:135m") is None
    assert sorted(one.name for one in paths.models_dir().iterdir()) == [".locks", "installed.json"]


def test_files_that_are_not_ours_are_kept(tmp_path: Path) -> None:
    """Only the entry goes; a file without an entry is refused."""
    model = _install(tmp_path / "theirs.gguf", owned=False)
    removal = plan_removal("smollm2:135m")
    remove(removal)
    assert (removal.kept, removal.files, model.path.is_file()) == (True, [], True)
    with pytest.raises(UsageError, match="not installed by chatcli"):
        plan_removal(str(model.path))


def test_an_unfinished_download_can_be_removed() -> None:
    """The partial file of an interrupted pull counts as the model's."""
    folder = paths.private_dir(paths.models_dir() / "smollm2-135m")
    partial = folder / "SmolLM2-135M-Instruct.Q4_1.gguf.partial"
    partial.write_bytes(b"half")
    removal = plan_removal("smollm2")
    remove(removal)
    assert (removal.n_bytes, partial.exists(), folder.exists()) == (4, False, False)


def test_what_is_not_installed_is_told() -> None:
    """A known name without a file is not an empty success."""
    with pytest.raises(ModelNotFound, match="is not installed"):
        plan_removal("qwen3:4b")
