from pathlib import Path

from chatcli.catalogue.machine import hub_answers, memory_bytes, this_machine
from tests.catalogue.served import Server, serving


def test_the_hub_counts_as_reachable_when_it_answers(server: Server) -> None:
    """Any answer will do; silence, refusal and nonsense will not."""
    assert hub_answers(server.url)
    with serving() as gone:
        url = gone.url
    assert not hub_answers(url)
    assert not hub_answers("http://host:port")


def test_a_containers_limit_counts(tmp_path: Path) -> None:
    """The smaller of the machine's memory and the container's share."""
    limit = tmp_path / "memory.max"
    whole = memory_bytes(limit)
    limit.write_text("max\n")
    assert memory_bytes(limit) == whole
    limit.write_text("1000000\n")
    assert memory_bytes(limit) == 1_000_000


def test_this_machine_has_memory_and_disk(server: Server) -> None:
    """The models folder need not exist yet."""
    machine = this_machine(server.url)
    assert machine.memory_bytes > 0
    assert machine.free_bytes > 0
    assert machine.hub_reachable
