"""Wheels made by hand, and an index of them in a folder."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest


def make_wheel(folder: Path, package: str, members: Mapping[str, bytes]) -> Path:
    """Write a wheel of version 1.0; its code would raise if anything ran it."""
    folder.mkdir(exist_ok=True)
    name = package.replace("-", "_")
    info = f"{name}-1.0.dist-info"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/__init__.py", "raise SystemExit('executed')")
        for member, content in members.items():
            archive.writestr(member, content)
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


def use_index(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pip look into `folder` alone: settings of the user's that must hold."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
