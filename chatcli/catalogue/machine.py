"""Facts about this machine that decide which model to offer."""

import os
import shutil
from pathlib import Path

import httpx

from chatcli import paths
from chatcli.catalogue.first_run import Machine
from chatcli.catalogue.transfer import open_client
from chatcli.core.errors import DownloadError

_HUB_TIMEOUT_S = 3.0
_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


def this_machine(hub: str) -> Machine:
    """Look at memory and disk, and ask the hub for a sign of life (3 s at most)."""
    return Machine(
        memory_bytes=memory_bytes(_CGROUP_LIMIT),
        free_bytes=_free_bytes(paths.models_dir()),
        hub_reachable=hub_answers(hub),
    )


def memory_bytes(cgroup_limit: Path) -> int:
    """Return the machine's memory, or the container's share of it if that is less."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        limit = int(cgroup_limit.read_text(encoding="ascii"))
    except (OSError, ValueError):  # no container, or "max"
        return total
    return min(total, limit)


def _free_bytes(folder: Path) -> int:
    for place in (folder, *folder.parents):
        if place.is_dir():
            return shutil.disk_usage(place).free
    return 0


def hub_answers(hub: str) -> bool:
    """Tell whether the hub can be reached, whatever it answers."""
    try:
        with open_client(_HUB_TIMEOUT_S) as client:
            client.head(hub, timeout=_HUB_TIMEOUT_S, follow_redirects=False)
    except (httpx.HTTPError, httpx.InvalidURL, DownloadError):
        return False
    return True
