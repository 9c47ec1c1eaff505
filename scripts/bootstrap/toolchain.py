"""What this machine can compile and run: the C++ compiler, AMX, the GPU toolkits.

It only asks; nothing is installed and nothing is kept.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .failure import SetupError

VARIANTS = ("cpu", "cuda", "vulkan", "metal", "hip")

NO_AMX = ("-mno-amx-tile", "-mno-amx-int8", "-mno-amx-bf16")

_CXX_PROBE = (
    "#include <thread>\n#include <vector>\nint main() { return std::vector<int>(0).size(); }\n"
)

# Asks the kernel for the tile state (arch_prctl ARCH_REQ_XCOMP_PERM, feature XTILEDATA), then runs
# one int8 and one bf16 tile product and checks both: exit code 0 means that AMX works here.
# Guests exist that advertise AMX and die of SIGILL at the first tile load.
_AMX_PROBE = r"""
#include <immintrin.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
    unsigned char config[64] __attribute__((aligned(64)));
    signed char a[1024] __attribute__((aligned(64))), b[1024] __attribute__((aligned(64)));
    int c[256] __attribute__((aligned(64)));
    float f[256] __attribute__((aligned(64)));
    unsigned short h[512] __attribute__((aligned(64)));
    int i;
    if (syscall(SYS_arch_prctl, 0x1023, 18)) return 1;
    memset(config, 0, sizeof config);
    config[0] = 1;
    for (i = 0; i < 3; i++) { config[16 + 2 * i] = 64; config[48 + i] = 16; }
    memset(a, 1, sizeof a);
    memset(b, 2, sizeof b);
    for (i = 0; i < 512; i++) h[i] = 0x3f80;
    _tile_loadconfig(config);
    _tile_zero(0);
    _tile_loadd(1, a, 64);
    _tile_loadd(2, b, 64);
    _tile_dpbssd(0, 1, 2);
    _tile_stored(0, c, 64);
    _tile_zero(0);
    _tile_loadd(1, h, 64);
    _tile_loadd(2, h, 64);
    _tile_dpbf16ps(0, 1, 2);
    _tile_stored(0, f, 64);
    _tile_release();
    for (i = 0; i < 256; i++) if (c[i] != 128 || f[i] != 32.0f) return 2;
    return 0;
}
"""


@dataclass(frozen=True)
class Backend:
    """How a variant is built: what CMake is told, and the environment it needs."""

    cmake_args: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Compilers:
    """The C and C++ compilers, as their programs and leading arguments."""

    c: tuple[str, ...]
    cxx: tuple[str, ...]


def default_variant() -> str:
    """The variant that is built when none is named; on a Mac, Metal is always in."""
    return "metal" if sys.platform == "darwin" else "cpu"


def find_compilers() -> Compilers:
    """The compilers that CMake will take, tried on a small program.

    Raises:
        SetupError: there is none, or it cannot build a C++ program.
    """
    c = _first_program("CC", ("cc", "gcc", "clang"))
    cxx = _first_program("CXX", ("c++", "g++", "clang++"))
    if c is None or cxx is None:
        raise SetupError("no C++ compiler was found", _compiler_remedy())
    if not _compiles(cxx, _CXX_PROBE, "probe.cpp", ["-std=c++17"]):
        raise SetupError(f"{cxx[0]} cannot build a small C++17 program", _compiler_remedy())
    return Compilers(c, cxx)


def amx_flags(compilers: Compilers) -> list[str]:
    """The compiler flags that leave AMX out, unless it is proved to run here.

    Empty on other processors, and where the compilers are too old to know AMX at all.
    """
    if platform.machine().lower() not in ("x86_64", "amd64", "i686"):
        return []
    if amx_runs(compilers):
        return []
    trivial = "int main(void) { return 0; }\n"
    known = _compiles(compilers.c, trivial, "probe.c", ["-Werror", *NO_AMX]) and _compiles(
        compilers.cxx, "int main() { return 0; }\n", "probe.cpp", ["-Werror", *NO_AMX]
    )
    return list(NO_AMX) if known else []


def amx_runs(compilers: Compilers) -> bool:
    """Whether a child process could multiply tiles on this machine and got the right result."""
    if sys.platform != "linux":
        return False
    flags = ["-O1", "-mamx-tile", "-mamx-int8", "-mamx-bf16"]
    with tempfile.TemporaryDirectory() as folder:
        program = _build(compilers.c, _AMX_PROBE, Path(folder) / "amx.c", flags)
        return program is not None and _succeeds([str(program)])


def backend(variant: str, compilers: Compilers) -> Backend:
    """What building a variant takes, after a look at whether its toolkit is here.

    Raises:
        SetupError: the toolkit is missing; the message says how to get it.
    """
    if variant == "cuda":
        return _cuda()
    if variant == "vulkan":
        return _vulkan(compilers)
    if variant == "metal":
        return _metal()
    if variant == "hip":
        return _hip()
    return Backend()


def _cuda() -> Backend:
    nvcc = _program("nvcc", [os.environ.get("CUDACXX", ""), "/usr/local/cuda/bin/nvcc"])
    if nvcc is None:
        raise SetupError(
            "GPU=cuda needs nvcc of the CUDA toolkit, which was not found",
            "install it (Debian, Ubuntu: apt install nvidia-cuda-toolkit) or put nvcc on PATH",
        )
    with tempfile.TemporaryDirectory() as folder:
        source = (
            "#include <cublas_v2.h>\nint main() { return cublasGetVersion_v2(nullptr, nullptr); }\n"
        )
        if _build([nvcc], source, Path(folder) / "probe.cu", ["-lcublas"]) is None:
            raise SetupError(
                f"GPU=cuda: {nvcc} cannot build a program with cuBLAS",
                "install the whole toolkit (the package libcublas-dev beside nvcc)",
            )
    return Backend(("-DGGML_CUDA=on",), {"CUDACXX": nvcc})


def _vulkan(compilers: Compilers) -> Backend:
    missing = []
    if shutil.which("glslc") is None:
        missing.append("glslc")
    headers = (
        ("vulkan/vulkan.hpp", "libvulkan-dev"),
        ("spirv/unified1/spirv.hpp", "spirv-headers"),
    )
    for header, package in headers:
        source = f"#include <{header}>\nint main() {{ return 0; }}\n"
        if not _compiles(compilers.cxx, source, "probe.cpp", ["-std=c++17", "-fsyntax-only"]):
            missing.append(package)
    if missing:
        raise SetupError(
            f"GPU=vulkan needs {', '.join(missing)}, not found here",
            f"Debian, Ubuntu: apt install {' '.join(missing)}; elsewhere: the LunarG Vulkan SDK",
        )
    return Backend(("-DGGML_VULKAN=on",))


def _metal() -> Backend:
    if sys.platform != "darwin":
        raise SetupError(
            "GPU=metal works on macOS only", "use GPU=cuda, GPU=vulkan or GPU=hip here"
        )
    return Backend(("-DGGML_METAL=on",))


def _hip() -> Backend:
    if _program("hipcc", ["/opt/rocm/bin/hipcc"]) is None:
        raise SetupError(
            "GPU=hip needs hipcc of ROCm, which was not found",
            "install ROCm (its packages hip-dev, hipblas-dev and rocblas-dev) or put hipcc on PATH",
        )
    environment = {}
    hipconfig = _program("hipconfig", ["/opt/rocm/bin/hipconfig"])
    if hipconfig is not None and "HIPCXX" not in os.environ:
        environment["HIPCXX"] = str(Path(_output([hipconfig, "-l"])) / "clang")
        environment["HIP_PATH"] = _output([hipconfig, "-R"])
    return Backend(("-DGGML_HIP=on",), environment)


def machine_identity() -> str:
    """What a native build depends on: processor, its features, system and C library."""
    parts = [sys.platform, platform.machine(), *platform.libc_ver()]
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        wanted = (
            "vendor_id",
            "model name",
            "flags",
            "CPU implementer",
            "CPU part",
            "Features",
            "isa",
        )
        lines = cpuinfo.read_text().partition("\n\n")[0].splitlines()
        parts += [
            line for line in lines if line.partition("\t")[0].partition(":")[0].strip() in wanted
        ]
    elif sys.platform == "darwin":
        parts.append(_output(["sysctl", "-n", "machdep.cpu.brand_string"]))
    return "\n".join(parts)


def _first_program(variable: str, names: Sequence[str]) -> tuple[str, ...] | None:
    chosen = os.environ.get(variable, "").split()
    if chosen:
        return tuple(chosen) if shutil.which(chosen[0]) else None
    return next(((name,) for name in names if shutil.which(name)), None)


def _program(name: str, elsewhere: Sequence[str]) -> str | None:
    found = (shutil.which(place) for place in (name, *elsewhere) if place)
    return next((path for path in found if path), None)


def _compiles(compiler: Sequence[str], source: str, name: str, flags: Sequence[str]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        return _build(compiler, source, Path(folder) / name, flags) is not None


def _build(compiler: Sequence[str], source: str, path: Path, flags: Sequence[str]) -> Path | None:
    path.write_text(source)
    program = path.with_suffix(".out")
    return program if _succeeds([*compiler, *flags, "-o", str(program), str(path)]) else None


def _succeeds(command: Sequence[str]) -> bool:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _output(command: Sequence[str]) -> str:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.stdout.decode(errors="replace").strip()


def _compiler_remedy() -> str:
    if sys.platform == "darwin":
        return "install Apple's: xcode-select --install"
    return "install one (Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++)"
