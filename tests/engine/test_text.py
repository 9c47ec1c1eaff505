"""Streaming text is right for any token boundary."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatcli.core.event import Delta
from chatcli.engine.text import LoopDetector, Reply, StopStrings, Utf8
from chatcli.engine.think import FAMILIES, THINK, Markers


def cut(data: st.DataObject, whole: bytes) -> list[bytes]:
    """Cut `whole` at random places."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=10)))
    return [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


class TestUtf8:
    """Bytes to text."""

    @given(data=st.data(), whole=st.binary() | st.text().map(str.encode))
    def test_any_cut_gives_the_same_text(self, data: st.DataObject, whole: bytes) -> None:
        """Which bytes are invalid does not depend on the cut."""
        pieces, at_once = Utf8(), Utf8()
        text = "".join(pieces.feed(piece) for piece in cut(data, whole))
        assert (text, pieces.flush()) == (at_once.feed(whole), at_once.flush())
        text.encode()

    def test_half_a_character_is_held_back_and_reported(self) -> None:
        """What never became a character is dropped, and the caller learns of it."""
        utf8 = Utf8()
        assert utf8.feed("é👩".encode()[:4]) == "é"
        assert utf8.pending == b"\xf0\x9f"
        assert utf8.flush() == b"\xf0\x9f"
        assert utf8.feed(b"x") == "x"

    def test_an_invalid_byte_is_replaced_at_once(self) -> None:
        """A surrogate's bytes are invalid too."""
        assert Utf8().feed(b"a\xff\xed\xa0\x80b") == "a\ufffd\ufffd\ufffd\ufffdb"


class TestStopStrings:
    """The text ends before a stop string."""

    def test_only_a_live_match_is_held_back(self) -> None:
        """What cannot become a stop string any more is released."""
        stops = StopStrings(["User:"])
        assert [stops.feed(t) for t in ("hi\nUs", "age. U", "ser", ": x")] == [
            "hi\n",
            "Usage. ",
            "",
            "",
        ]
        assert stops.matched == "User:"
        assert stops.feed("more") == stops.flush() == ""

    def test_a_partial_match_is_released_at_the_end(self) -> None:
        """The end of the reply decides."""
        stops = StopStrings(["###"])
        assert stops.feed("a##") + stops.flush() == "a##"
        assert stops.matched is None

    def test_the_first_that_is_complete_wins(self) -> None:
        """As in a stream, where the later one has not been seen yet; of two, the longer."""
        stops = StopStrings(["abc", "b", "ab"])
        assert (stops.feed("xabc"), stops.matched) == ("x", "ab")

    def test_an_empty_stop_string_is_nothing(self) -> None:
        """It would end every reply before it began."""
        assert StopStrings([""]).is_idle

    @given(
        data=st.data(),
        whole=st.text("ab\n", max_size=30),
        stops=st.lists(st.text("ab\n", max_size=5), max_size=3),
    )
    def test_any_cut_gives_the_same_text(
        self, data: st.DataObject, whole: str, stops: list[str]
    ) -> None:
        """The text before the stop string that is completed first."""
        found = StopStrings(stops)
        text = "".join(found.feed(piece.decode()) for piece in cut(data, whole.encode()))
        text += found.flush()
        ends = [(at + len(s), -len(s)) for s in stops if s and (at := whole.find(s)) >= 0]
        end, length = min(ends, default=(len(whole), 0))
        assert text == whole[: end + length]
        assert (found.matched is None) == (not ends)

    def test_a_long_partial_match_costs_no_more(self) -> None:
        """Work grows with the text, not with its product with the stop string."""
        stops = StopStrings(["a" * 50_000 + "b"])
        began = time.thread_time()
        for _ in range(1_000):
            stops.feed("a" * 100)
        assert time.thread_time() - began < 2


def run(reply: Reply, pieces: list[bytes]) -> list[Delta]:
    """Feed the pieces as tokens 0, 1, 2..., until a stop string is found."""
    deltas = []
    for token, piece in enumerate(pieces):
        deltas += reply.feed(token, piece)
        if reply.matched is not None:
            break
    return deltas + reply.flush()


class TestReply:
    """The chain, and which tokens the text covers."""

    def test_a_token_cut_by_a_stop_string_is_not_kept(self) -> None:
        """Only tokens that were shown as a whole stay in the record."""
        reply = Reply(stops=["User:"])
        assert "".join(d.text for d in run(reply, [b"Hi", b".\n", b"!Us", b"er: x"])) == "Hi.\n!"
        assert (reply.text, reply.matched, reply.kept) == ("Hi.\n!", "User:", 2)

    def test_a_cancel_in_the_middle_of_a_character_drops_its_tokens(self) -> None:
        """The half character was never shown."""
        reply = Reply()
        run(reply, [b"a", b"b\xf0", b"\x9f"])
        assert (reply.text, reply.kept) == ("ab", 1)

    def test_all_tokens_of_a_whole_character_are_kept(self) -> None:
        """Byte tokens count once the character is complete."""
        reply = Reply()
        assert run(reply, [b"a", b"\xf0\x9f", b"\x98", b"\x80", b"!"])[1] == Delta("text", "😀")
        assert (reply.text, reply.kept, reply.thought) == ("a😀!", 5, 0)

    def test_reasoning_is_counted_apart(self) -> None:
        """A token that straddles the border is reasoning; stop strings spare the reasoning."""
        reply = Reply([THINK], ["stop"])
        pieces = [b"<think>", b"\nstop", b"\n</think>", b"\n\nYes", b", ", b"well"]
        deltas = run(reply, pieces)
        assert (reply.reasoning, reply.text) == ("stop", "Yes, well")
        assert (reply.thought, reply.kept) == (4, 6)
        assert deltas[0] == Delta("reasoning", "stop")

    def test_a_reply_of_thoughts_alone_is_all_thought(self) -> None:
        """Cancelled before the answer began."""
        reply = Reply([THINK], starts_in_thought=THINK)
        run(reply, [b"\n", b"hm", b" ", b"hm"])
        assert (reply.reasoning, reply.text, reply.thought, reply.kept) == ("hm hm", "", 4, 4)

    def test_tokens_of_a_shown_part(self) -> None:
        """A caller that showed less than was released can cut back to it."""
        reply = Reply([THINK])
        run(reply, [b"<think>", b"x</think>", b"one", b" two", b" three"])
        assert [reply.text_tokens(n) for n in (0, 3, 5, 7, 13)] == [2, 3, 3, 4, 5]

    def test_a_marker_behind_half_a_stop_string_is_covered(self) -> None:
        """What was held back and what was removed behind it are both accounted for."""
        reply = Reply(FAMILIES, ["stop"])
        run(reply, [b"a", b"sto", b"<|END_RESPONSE|>"])
        assert (reply.text, reply.kept) == ("asto", 3)

    def test_a_stop_string_at_once_leaves_the_reasoning(self) -> None:
        """Nothing visible was said."""
        reply = Reply([THINK], ["#"])
        run(reply, [b"<think>x</think>", b"#"])
        assert (reply.text, reply.kept, reply.thought) == ("", 1, 1)

    @given(data=st.data(), inside=st.sampled_from([None, THINK]))
    def test_any_cut_gives_the_same_reply(
        self, data: st.DataObject, inside: Markers | None
    ) -> None:
        """Text, reasoning and stop do not depend on the tokens, and the counts fit the text."""
        words = [
            "<think>",
            "</think>",
            "\n",
            "é",
            "👩",
            "stop",
            "sto",
            "a",
            " ",
            "<|END_RESPONSE|>",
        ]
        whole = "".join(data.draw(st.lists(st.sampled_from(words), max_size=12))).encode()
        pieces = cut(data, whole)
        families = data.draw(st.sampled_from([(), (THINK,), FAMILIES]))
        reply, at_once = (Reply(families, ["stop"], starts_in_thought=inside) for _ in "ab")
        deltas = run(reply, pieces)
        run(at_once, [whole])
        assert (reply.text, reply.reasoning) == (at_once.text, at_once.reasoning)
        assert "".join(d.text for d in deltas if d.kind == "text") == reply.text
        assert "".join(d.text for d in deltas if d.kind == "reasoning") == reply.reasoning
        assert all(delta.text for delta in deltas)
        assert 0 <= reply.thought <= reply.kept <= len(reply.ids)
        assert reply.text_tokens(len(reply.text)) == reply.kept
        if reply.matched is None:
            assert reply.kept == len(reply.ids)
        if reply.kept > reply.thought:  # else a marker may have been cut with its token
            again = Reply(families, starts_in_thought=inside)
            run(again, pieces[: reply.kept])
            assert reply.text.startswith(again.text)

    def test_a_plain_token_costs_little(self) -> None:
        """Three microseconds where nothing can be held back; ten on a busy machine."""
        reply = Reply([THINK])
        reply.feed(0, b"Well")
        best = min(self._time(reply) for _ in range(5))
        assert best < 10e-6

    @staticmethod
    def _time(reply: Reply) -> float:
        began = time.thread_time()
        for token in range(2_000):
            reply.feed(token, b" word")
        return (time.thread_time() - began) / 2_000


def loops(ids: list[int], n: int = 30, times: int = 3) -> int | None:
    """Return after how many ids the detector spoke."""
    detector = LoopDetector(n, times)
    return next((at for at, token in enumerate(ids, 1) if detector.feed(token)), None)


class TestLoopDetector:
    """Circles are noticed, nothing else is."""

    @pytest.mark.parametrize("period", [1, 2, 7, 29, 30])
    def test_a_cycle_is_found_after_ninety_tokens(self, period: int) -> None:
        """Exactly when the last ninety ids repeat, whatever came before."""
        assert loops([900, 901, *(i % period for i in range(200))]) == 92

    def test_longer_cycles_are_not(self) -> None:
        """A song may have a refrain."""
        assert loops([i % 31 for i in range(500)]) is None

    def test_two_rounds_are_not_enough(self) -> None:
        """Three times, not two."""
        assert loops([*range(30), *range(30), *range(29)]) is None

    @given(st.lists(st.integers(0, 2), max_size=80), st.integers(1, 6), st.integers(2, 4))
    def test_it_agrees_with_the_definition(self, ids: list[int], n: int, times: int) -> None:
        """The first place where the last n * times ids have a period of at most n."""
        size = n * times
        expected = next(
            (
                end
                for end in range(size, len(ids) + 1)
                if any(
                    ids[end - size + p : end] == ids[end - size : end - p] for p in range(1, n + 1)
                )
            ),
            None,
        )
        assert loops(ids, n, times) == expected
