"""What the machine can compile and run is asked of the machine, with real compilers."""

from __future__ import annotations

import platform
import stat
from pathlib import Path

import pytest

from scripts.bootstrap import toolchain
from scripts.bootstrap.failure import SetupError
from scripts.bootstrap.toolchain import Compilers


@pytest.fixture(autouse=True)
def no_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CC", "CXX", "CUDACXX", "HIPCXX"):
        monkeypatch.delenv(name, raising=False)


def program(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_compilers_of_this_machine_work() -> None:
    """A C and a C++ compiler are found and build a C++17 program."""
    found = toolchain.find_compilers()
    assert found.c
    assert found.cxx


def test_cxx_may_have_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """CXX is split into words as make and CMake do."""
    (name,) = toolchain.find_compilers().cxx
    monkeypatch.setenv("CXX", f"{name} -O1")
    assert toolchain.find_compilers().cxx == (name, "-O1")


def test_no_compiler_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty PATH gives the error with its remedy."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match=r"^no C\+\+ compiler was found; install .*$"):
        toolchain.find_compilers()


def test_a_broken_compiler_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that is there but does not compile is named."""
    broken = program(tmp_path / "broken", "exit 1")
    monkeypatch.setenv("CXX", str(broken))
    with pytest.raises(SetupError, match="broken cannot build a small C"):
        toolchain.find_compilers()


def test_amx_is_left_out_unless_it_ran() -> None:
    """On x86 the flags are there exactly if tile instructions did not give the right product."""
    compilers = toolchain.find_compilers()
    flags = toolchain.amx_flags(compilers)
    x86 = platform.machine() in ("x86_64", "amd64")
    assert flags == (list(toolchain.NO_AMX) if x86 and not toolchain.amx_runs(compilers) else [])


def test_a_compiler_that_rejects_the_flags_gets_none(tmp_path: Path) -> None:
    """An old compiler that does not know AMX must not fail on flags against it."""
    (cxx,) = toolchain.find_compilers().cxx
    refuses = f'for a; do case $a in -mno-amx*|-mamx*) exit 1;; esac; done; exec {cxx} "$@"'
    old = program(tmp_path / "old", refuses)
    assert toolchain.amx_flags(Compilers((str(old),), (str(old),))) == []


@pytest.mark.parametrize(("code", "runs"), [(0, True), (1, False), (2, False)])
def test_amx_counts_only_if_the_probe_succeeds(tmp_path: Path, code: int, runs: bool) -> None:
    """The probe's exit code decides: refused by the kernel or a wrong product mean no AMX."""
    fake = (
        'while [ "$1" != -o ]; do shift; done\n'
        f'printf "#!/bin/sh\\nexit {code}\\n" > "$2"; chmod +x "$2"'
    )
    compiler = (str(program(tmp_path / "cc", fake)),)
    assert toolchain.amx_runs(Compilers(compiler, compiler)) is runs


def test_a_probe_that_dies_of_a_signal_means_no_amx(tmp_path: Path) -> None:
    """SIGILL at the first tile load, as on guests that only advertise AMX, is survived."""
    fake = (
        'while [ "$1" != -o ]; do shift; done\n'
        'printf "#!/bin/sh\\nkill -ILL \\$\\$\\n" > "$2"; chmod +x "$2"'
    )
    compiler = (str(program(tmp_path / "cc", fake)),)
    assert not toolchain.amx_runs(Compilers(compiler, compiler))
    assert toolchain.amx_flags(Compilers(compiler, compiler)) == list(toolchain.NO_AMX)


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ("cuda", r"^GPU=cuda needs nvcc .*; install it .* or put nvcc on PATH$"),
        ("vulkan", r"^GPU=vulkan needs glslc, .*apt install glslc"),
        ("hip", r"^GPU=hip needs hipcc .*; install ROCm"),
    ],
)
def test_a_missing_toolkit_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: str, message: str
) -> None:
    """Each GPU variant names what it misses and how to get it, before anything is compiled."""
    monkeypatch.setenv("PATH", str(tmp_path))
    if any(Path(place).exists() for place in ("/usr/local/cuda", "/opt/rocm")):
        monkeypatch.setattr(toolchain, "_program", lambda _name, _elsewhere: None)
    with pytest.raises(SetupError, match=message):
        toolchain.backend(variant, Compilers(("cc",), ("c++",)))


def test_metal_is_for_macs(monkeypatch: pytest.MonkeyPatch) -> None:
    """GPU=metal elsewhere says so; on a Mac it is the default."""
    compilers = Compilers(("cc",), ("c++",))
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(SetupError, match="macOS only"):
        toolchain.backend("metal", compilers)
    assert toolchain.default_variant() == "cpu"
    monkeypatch.setattr("sys.platform", "darwin")
    assert toolchain.backend("metal", compilers).cmake_args == ("-DGGML_METAL=on",)
    assert toolchain.default_variant() == "metal"


def test_cuda_without_cublas_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """nvcc alone is not enough: what cannot link cuBLAS would fail after minutes."""
    monkeypatch.setenv("CUDACXX", str(program(tmp_path / "nvcc", "exit 1")))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match=r"nvcc cannot build a program with cuBLAS; install"):
        toolchain.backend("cuda", Compilers(("cc",), ("c++",)))


def test_cuda_takes_the_nvcc_that_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CMake is told which nvcc it is, also when it is not on PATH."""
    nvcc = program(tmp_path / "nvcc", "exit 0")
    monkeypatch.setenv("CUDACXX", str(nvcc))
    monkeypatch.setenv("PATH", "/nonexistent")
    found = toolchain.backend("cuda", Compilers(("cc",), ("c++",)))
    assert found.cmake_args == ("-DGGML_CUDA=on",)
    assert found.environment == {"CUDACXX": str(nvcc)}


def test_the_machine_identity_is_stable_and_not_empty() -> None:
    """Two looks at the same machine agree, though frequencies change between them."""
    assert toolchain.machine_identity() == toolchain.machine_identity()
    assert platform.machine() in toolchain.machine_identity()
    assert "MHz" not in toolchain.machine_identity()
