"""Large texts: encoded in pieces as the whole would be, kept, and read anywhere."""

from __future__ import annotations

import errno
import gc
import hashlib
import os
import random
import tempfile
import threading
import time
import tracemalloc
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
import tiktoken
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector import tokenizer
from inspector.files import text_cache, text_files, text_pieces
from inspector.files.source import Source
from inspector.files.text_files import TextStore, open_text
from inspector.files.text_pieces import piece_at
from inspector.tokenizer import SPECIAL_TOKEN, gpt2
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PROSE = (
    "I HAD always thought Jack Gisburn rather a cheap genius--though a good fellow enough--so it was no great surprise "
    "to me to hear that, in the height of his glory, he'd dropped his painting.\r\n\r\n\tNaïve, 3 000 €, 你好，世界。\n"
)


@pytest.fixture
def opened() -> Iterator[Callable[..., TextStore]]:
    """Open texts, and close them after the test."""
    stores: list[TextStore] = []

    def open_it(path: Path, special_tokens: str = "plain") -> TextStore:
        stores.append(open_text(path, special_tokens))
        return stores[-1]

    yield open_it
    for store in stores:
        store.close()


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def long_text(path: Path, megabytes: int) -> Path:
    return written(path, (PROSE * (megabytes * 2**20 // len(PROSE.encode()))).encode())


def pieces(path: Path, size: int) -> list[bytes]:
    source, found = Source(path), [b""]
    while sum(map(len, found)) < source.size:
        found.append(piece_at(source, sum(map(len, found)), size))
        assert found[-1]
    return found[1:]


def kept() -> list[Path]:
    return sorted(text_cache.folder().iterdir())


# ---- the same IDs as the whole text's ------------------------------------------------------------------------------

# What the tokenizer's pattern tells apart, what it looks at from behind, and what breaks UTF-8.
PARTS = [
    *(b" ", b"  ", b"\n", b"\r\n", b"\t", b"\x0b", b"\x0c", b"\x1c", b"\x1f", b"\x85", b"\0", b"\x7f"),
    *(c.encode() for c in "\x85\xa0\u1680\u2000\u200a\u2028\u202f\u205f\u3000\u200b\ufeff\ufffd"),
    *(b"a", b"word", b"The", b"'", b"'s", b"'ll", b"'re", b"n't", b"0", b"1234", b".", b"...", b"-", b"|", b"<", b">"),
    *(c.encode() for c in ("é", "ß", "你好", "，", "。", "、", "가", "🙂", "👩‍👩‍👧", "e\u0301", "٣", "Ⅷ", "²", "ˢ")),
    *(SPECIAL_TOKEN.encode(), b"<|endof", b"text|>", b"<|", b"|>"),
    *(b"\xff", b"\xc3", b"\xe4\xbd", b"\xf0\x9f\x99", b"\x80", b"\xe3\x80", b"\xed\xa0\x80", b"\xc0\xa0", b"\xe5\xbd"),
]
TEXTS = st.lists(st.sampled_from(PARTS) | st.binary(max_size=3) | st.text(max_size=3).map(str.encode), max_size=60)


@settings(max_examples=800, suppress_health_check=list(HealthCheck))
@given(TEXTS, st.integers(1, 40), st.sampled_from(["plain", "special", "refuse"]))
def test_ids_of_pieces_are_those_of_the_whole(
    tmp_path: Path, parts: list[bytes], size: int, special_tokens: str
) -> None:
    content = b"".join(parts)
    path = written(tmp_path / "text.txt", content)
    whole = tokenizer.encode(content.decode("utf-8", "surrogateescape"), special_tokens)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_files, "piece_at", lambda source, offset: piece_at(source, offset, size))
        patch.setattr(text_cache, "MOST_KEPT", 0)
        store = open_text(path, special_tokens)
        store.encode()
        assert list(store.ids) == whole.ids
        assert (store.count, store.complete) == (len(whole.ids), True)
        assert (store.replaced, store.special_count, store.refused) == (
            whole.replaced,
            whole.special_count,
            whole.refused,
        )
        assert (store.characters, store.max_id) == (len(whole.text), whole.max_id)
        store.close()


def matched(pattern: str, text: str) -> str:
    """Return what a pattern of the tokenizer's own kind finds in a text."""
    each_byte = {bytes([b]): b for b in range(256)}
    encoding = tiktoken.Encoding("bytes", pat_str=pattern, mergeable_ranks=each_byte, special_tokens={})
    return bytes(encoding.encode_ordinary(text)).decode()


def test_characters_are_what_the_tokenizer_takes_them_for(tmp_path: Path) -> None:
    """A cut looks at bytes, the tokenizer at its own idea of Unicode."""
    every = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000)
    white = matched(r"\s", every)
    assert len(white) > 20
    for character in white:
        path = written(tmp_path / "text.txt", f"word{character} word".encode())
        assert not any(p.endswith(character.encode()) for size in range(1, 12) for p in pieces(path, size)[:-1])
    chinese = "".join(map(chr, range(0x5000, 0x9000)))
    assert matched(r"\p{L}", chinese) == chinese
    assert matched(r"[^\s\p{L}\p{N}]", "、。，") == "、。，"


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        '{"a":1,"b":[2,3],"text":"no-white-space"}',
        "QUJD0ZWYx2aGk" * 20,
        "你好世界，你好世界。2024年" * 20,
        "\n\n\n word" * 20,
    ],
)
def test_most_texts_have_places_to_cut(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "text.txt", (text * 40).encode())
    sizes = [len(p) for p in pieces(path, 256)]
    assert max(sizes) <= 256
    assert min(sizes[:-1]) > 150


def test_a_piece_grows_until_it_can_be_cut(tmp_path: Path) -> None:
    path = written(tmp_path / "text.txt", b"a" * 1000 + b" b" + b" " * 1000 + b"c d")
    assert [len(p) for p in pieces(path, 100)] == [1002, 1003]


@pytest.mark.parametrize(("before", "behind"), [("a", " b"), ("好", "。"), ("a", "1"), ("é", " ")])
def test_the_only_place_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, behind: str) -> None:
    monkeypatch.setattr(text_pieces, "_FIRST_LOOK", 8)
    monkeypatch.setattr(text_pieces, "_NEXT_LOOKS", 16)
    content = before.encode() * 7
    path = written(tmp_path / "text.txt", content + behind.encode() + "é".encode() * 100)
    for more in range(len(behind.encode()), 60):
        assert pieces(path, len(content) + more)[0] == content


def test_what_cannot_be_cut_is_hardly_a_text(tmp_path: Path, opened: Callable[..., TextStore]) -> None:
    store = opened(written(tmp_path / "text.txt", b"word " + b"\0" * (text_pieces.MOST + text_pieces.PIECE)))
    with pytest.raises(FileTrouble, match="from byte 4 on without white space") as caught:
        store.encode()
    assert caught.value.trouble is Trouble.NOT_RECOGNISED
    assert list(store.ids) == gpt2().encode("word", special=False)


# ---- growing, stopping, going on -----------------------------------------------------------------------------------


def test_an_empty_text(tmp_path: Path, opened: Callable[..., TextStore]) -> None:
    store = opened(written(tmp_path / "text.txt", b""))
    told: list[Any] = []
    store.encode(told.append, first=lambda: told.append("first"))
    assert (list(store.ids), store.complete, store.max_id, told) == ([], True, -1, ["first", 1.0])


def test_the_first_ids_come_first(tmp_path: Path, opened: Callable[..., TextStore]) -> None:
    path = long_text(tmp_path / "text.txt", 2)
    store = opened(path)
    assert (store.count, store.complete, store.bytes_done, list(store.ids)) == (0, False, 0, [])
    whole = gpt2().encode(path.read_bytes().decode(), special=False)
    told: list[float] = []

    def first() -> None:
        assert not told
        assert 0 < store.bytes_done < store.bytes_total
        assert list(store.ids) == whole[: store.count]
        assert store.ids[100:133] == whole[100:133]

    store.encode(told.append, first=first)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert list(store.ids) == whole
    assert store.bytes_done == store.bytes_total == path.stat().st_size


def test_cancel_and_go_on(tmp_path: Path, opened: Callable[..., TextStore]) -> None:
    path = long_text(tmp_path / "text.txt", 2)
    store = opened(path)
    store.encode(cancelled=lambda: store.bytes_done > 2**19)
    assert 2**19 < store.bytes_done < 2**20
    assert not store.complete
    done = store.count
    assert len(store.ids[:]) == done
    store.encode()
    assert list(store.ids) == gpt2().encode(path.read_bytes().decode(), special=False)


def test_any_part_while_it_grows(tmp_path: Path, opened: Callable[..., TextStore]) -> None:
    path = long_text(tmp_path / "text.txt", 4)
    whole = gpt2().encode(path.read_bytes().decode(), special=False)
    store = opened(path)
    worker = threading.Thread(target=store.encode)
    worker.start()
    reads = 0
    while worker.is_alive():
        if store.count > 33:
            start = random.randrange(store.count - 33)
            assert store.ids[start : start + 33] == whole[start : start + 33]
            reads += 1
    worker.join()
    assert reads > 10
    assert list(store.ids) == whole


@given(st.integers(-5000, 5000) | st.slices(4000))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_ids_are_indexed_as_a_list_is(tmp_path: Path, index: int | slice) -> None:
    path = tmp_path / "text.txt"
    if not path.exists():
        path.write_bytes(PROSE.encode() * 60)
    store = open_text(path, "plain")
    store.encode()
    expected = gpt2().encode(path.read_bytes().decode(), special=False)
    try:
        part = expected[index]
    except IndexError:
        with pytest.raises(IndexError):
            store.ids[index]
    else:
        assert store.ids[index] == part
    store.close()


def test_refused(tmp_path: Path, opened: Callable[..., TextStore]) -> None:
    text = PROSE * 4000 + SPECIAL_TOKEN + PROSE * 4000 + SPECIAL_TOKEN
    path = written(tmp_path / "text.txt", text.encode())
    for before in (False, True):  # encoded, then kept
        store = opened(path, "refuse")
        assert store.complete == before
        store.encode()
        assert (store.refused, store.special_count, store.count, list(store.ids)) == (True, 2, 0, [])
        assert (store.complete, store.characters) == (True, len(text))


# ---- kept for the next opening -------------------------------------------------------------------------------------


def test_the_second_opening_encodes_nothing(
    tmp_path: Path, opened: Callable[..., TextStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "text.txt", PROSE.encode() * 3000 + b"\xff")
    once = opened(path)
    once.encode()
    monkeypatch.setattr(text_files, "piece_at", None)
    again = opened(path)
    assert again.complete
    told: list[Any] = []
    again.encode(told.append, first=lambda: told.append("first"))
    assert told == ["first", 1.0]
    assert list(again.ids) == list(once.ids)
    for name in ("count", "bytes_done", "characters", "replaced", "special_count", "refused", "max_id"):
        assert getattr(again, name) == getattr(once, name), name
    assert len(kept()) == 1
    assert kept()[0].stat().st_mode & 0o77 == 0


@pytest.mark.parametrize("change", ["content", "time", "size", "place", "special tokens"])
def test_another_text_is_encoded_itself(tmp_path: Path, opened: Callable[..., TextStore], change: str) -> None:
    path = written(tmp_path / "text.txt", PROSE.encode())
    status = path.stat()
    opened(path).encode()
    if change == "content":
        path.write_bytes(PROSE.replace("Jack", "Jane").encode())
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    elif change == "time":
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    elif change == "size":
        path.write_bytes(PROSE.encode() * 2)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    elif change == "place":
        path = path.rename(tmp_path / "moved.txt")
    store = opened(path, "special" if change == "special tokens" else "plain")
    assert not store.complete
    store.encode()
    assert list(store.ids) == gpt2().encode(path.read_bytes().decode(), special=False)


@pytest.mark.parametrize("damage", ["cut", "digest", "magic", "empty", "length", "ids"])
def test_a_damaged_store_is_made_again(tmp_path: Path, opened: Callable[..., TextStore], damage: str) -> None:
    path = written(tmp_path / "text.txt", PROSE.encode())
    opened(path).encode()
    [store] = kept()
    content = store.read_bytes()
    end = len(content)
    content = {
        "cut": content[:-9],
        "digest": content[: end - 30] + b"?" + content[end - 29 :],
        "magic": content[:-2] + b"?\n",
        "empty": b"",
        "length": content[: end - 56] + b"\xff" * 8 + content[end - 48 :],
        "ids": content[2:],
    }[damage]
    store.write_bytes(content)
    again = opened(path)
    assert not again.complete
    again.encode()
    assert opened(path).complete


def test_an_unfinished_store_goes_with_its_text(tmp_path: Path) -> None:
    store = open_text(long_text(tmp_path / "text.txt", 1), "plain")
    store.encode(cancelled=lambda: store.bytes_done > 0)
    assert [p.suffix for p in kept()] == [".part"]
    store.close()
    assert kept() == []


def in_use() -> None:
    assert [p.suffix for p in kept()] == [".part"]


def test_a_text_that_nobody_closes_leaves_nothing(tmp_path: Path) -> None:
    answers = iter([False, True])
    open_text(long_text(tmp_path / "text.txt", 1), "plain").encode(cancelled=lambda: next(answers), first=in_use)
    gc.collect()
    assert kept() == []


def test_the_oldest_stores_are_removed(
    tmp_path: Path, opened: Callable[..., TextStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [written(tmp_path / f"{n}.txt", PROSE.encode() * 100) for n in range(4)]
    opened(paths[0]).encode()
    [first] = kept()
    monkeypatch.setattr(text_cache, "MOST_KEPT", int(2.5 * first.stat().st_size))
    for n, path in enumerate(paths[1:], start=1):
        for store in kept():
            os.utime(store, (store.stat().st_atime, store.stat().st_mtime - 1000))
        if n == 3:
            assert opened(paths[1]).complete  # which makes it the newest
        opened(path).encode()
    assert [opened(path).complete for path in paths] == [False, True, False, True]
    monkeypatch.setattr(text_cache, "MOST_KEPT", 0)
    opened(paths[0]).encode()  # the newest stays, be it larger than all that may be kept
    assert [opened(path).complete for path in paths] == [True, False, False, False]


def test_what_a_crash_left_is_removed(tmp_path: Path, opened: Callable[..., TextStore]) -> None:
    text_cache.folder().mkdir(parents=True)
    old, new = (written(text_cache.folder() / f"{name}.part", b"1") for name in ("old", "new"))
    os.utime(old, (0, 0))
    opened(written(tmp_path / "text.txt", b"word")).encode()
    assert not old.exists()
    assert new.exists()


def test_without_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(written(tmp_path / "file", b"")))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = written(tmp_path / "text.txt", PROSE.encode())
    for _ in range(2):
        store = open_text(path, "plain")
        assert not store.complete
        store.encode()
        assert list(store.ids) == gpt2().encode(PROSE, special=False)
        store.close()
    assert {p.name for p in tmp_path.iterdir()} == {"file", "text.txt"}


def test_no_room(tmp_path: Path, opened: Callable[..., TextStore], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store = opened(written(tmp_path / "text.txt", b"word"))
    monkeypatch.setattr(text_cache.IdStore, "append", full)
    with pytest.raises(FileTrouble, match="no space left"):
        store.encode()
    monkeypatch.setattr(tempfile, "mkstemp", full)
    with pytest.raises(FileTrouble, match="cannot be encoded"):
        open_text(written(tmp_path / "other.txt", b"word"), "plain")


# ---- an excerpt around a token -------------------------------------------------------------------------------------

EXCERPTS = [
    PROSE.encode() * 30,
    b"\xff a \xef\xbf\xbd b\xe4\xbd c " * 60,
    ("🙂你好👩‍👩‍👧" * 100).encode(),
    (PROSE + SPECIAL_TOKEN).encode() * 20,
]


@pytest.mark.parametrize("content", EXCERPTS)
def test_text_around_a_token(
    tmp_path: Path, opened: Callable[..., TextStore], monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setattr(text_files, "piece_at", lambda source, offset: piece_at(source, offset, 256))
    store = opened(written(tmp_path / "text.txt", content), "special")
    store.encode()
    whole = tokenizer.encode(content.decode("utf-8", "surrogateescape"), "special")
    for index in range(0, store.count, 7):
        for characters in (0, 1, 30, 500):
            found = store.text_around(index, characters)
            assert found.first <= index < found.last
            assert found.tokens.ids == whole.ids[found.first : found.last]
            start, end = whole.span(found.first, found.last)
            assert found.tokens.text == whole.text[start:end]
            raw = content.decode("utf-8", "surrogateescape")[:start].encode("utf-8", "surrogateescape")
            assert found.byte_offset == len(raw)
            at_edge = found.first == 0 or found.last == store.count
            assert at_edge or characters <= len(found.tokens.text) <= characters + 60
            span = found.tokens.span(index - found.first, index - found.first + 1)
            assert tuple(start + place for place in span) == whole.span(index, index + 1)


def test_no_text_around_a_token_that_is_not_there(tmp_path: Path, opened: Callable[..., TextStore]) -> None:
    store = opened(written(tmp_path / "text.txt", b"word"))
    for index in (-1, 0, 1):
        with pytest.raises(IndexError):
            store.text_around(index, 10)


# ---- files that do not stay ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["cut", "taken away", "replaced", "grown"])
def test_a_text_that_does_not_stay(tmp_path: Path, opened: Callable[..., TextStore], change: str) -> None:
    path = long_text(tmp_path / "text.txt", 1)
    store = opened(path)

    def spoil() -> None:
        if change == "cut":
            os.truncate(path, 2**17)
        elif change == "taken away":
            path.unlink()
        elif change == "replaced":
            written(tmp_path / "other.txt", path.read_bytes()).replace(path)
        else:
            with open(path, "ab") as file:
                file.write(b"more")

    with pytest.raises(FileTrouble):
        store.encode(first=spoil)
    assert not store.complete
    assert store.ids[:5] == gpt2().encode(PROSE, special=False)[:5]
    with pytest.raises(FileTrouble):
        store.text_around(0, 10)
    store.close()
    assert kept() == []


def test_ids_that_are_gone(tmp_path: Path) -> None:
    store = open_text(written(tmp_path / "text.txt", b"word"), "plain")
    store.encode()
    os.truncate(kept()[0], 0)
    with pytest.raises(FileTrouble, match="gone"):
        store.ids[0]
    store.close()


def test_places_that_hold_no_text(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("absent", ".", "pipe"):
        with pytest.raises(FileTrouble):
            open_text(tmp_path / name, "plain")


# ---- fast, and flat ------------------------------------------------------------------------------------------------


def test_nearly_as_fast_as_the_tokenizer_alone(tmp_path: Path, opened: Callable[..., TextStore]) -> None:
    path = long_text(tmp_path / "text.txt", 6)
    chunks = [p.decode() for p in pieces(path, text_pieces.PIECE)]
    store, alone = opened(path), 0.0
    waiting = iter(chunks)
    gpt2().encode(chunks[0], special=False)

    def take_turns() -> bool:
        """Encode the same piece alone, in turns with the store, so that what else the machine does slows down both."""
        nonlocal alone
        begun = time.thread_time()
        tiktoken.Encoding.encode_ordinary(gpt2()._encoding, next(waiting, ""))
        alone += time.thread_time() - begun
        return False

    begun = time.thread_time()
    store.encode(cancelled=take_turns)
    ours = time.thread_time() - begun - alone
    assert next(waiting, None) is None
    assert alone / ours > 0.8


def test_memory_stays_flat(tmp_path: Path, opened: Callable[..., TextStore]) -> None:
    def most(megabytes: int) -> int:
        store = opened(long_text(tmp_path / f"{megabytes}.txt", megabytes))
        tracemalloc.start()
        store.encode()
        store.text_around(store.count // 2, 5000)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    most(1)
    small, large = most(2), most(10)
    assert large < small + 2e6


def test_another_thread_hardly_waits(tmp_path: Path, opened: Callable[..., TextStore]) -> None:
    gpt2()

    def waits(work: Callable[[], None]) -> list[float]:
        """Return how late a sleeper is while another thread works, the longest first."""
        worker, found = threading.Thread(target=work), []
        worker.start()
        while worker.is_alive():
            begun = time.perf_counter()
            time.sleep(0.001)
            found.append(time.perf_counter() - begun)
        worker.join()
        return sorted(found, reverse=True)

    def without_the_lock() -> None:
        for _ in range(40):
            hashlib.sha256(bytes(2**24))

    # The interpreter's lock is all that the two differ in; what else the machine does makes both wait.
    late = waits(opened(long_text(tmp_path / "text.txt", 8)).encode)
    assert late[len(late) // 50] < 0.02 + waits(without_the_lock)[0]


def test_pieces_follow_one_another(tmp_path: Path, opened: Callable[..., TextStore]) -> None:
    store = opened(long_text(tmp_path / "text.txt", 2))
    store.encode()
    assert len(store._first_bytes) > 5
    assert all(0 < after - before <= text_pieces.PIECE for before, after in pairwise(store._first_bytes))
