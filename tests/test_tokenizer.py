"""Text to IDs and back, with tiktoken as the oracle."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiktoken.load import load_tiktoken_bpe

from inspector import resources, tokenizer
from inspector.tokenizer import SPECIAL_ID, SPECIAL_TOKEN, Tokens, encode

# Any text a person can paste: lone surrogates, NUL, combining marks, other scripts, line ends.
PIECES = st.sampled_from(
    [
        "a",
        " ",
        "\n",
        "\r\n",
        "\t",
        "\0",
        "é",
        "e\u0301",
        "ß",
        "日本語",
        "עברית",
        "👩‍👩‍👧",
        "😀",
        "\ud83d",
        "\ude00",
        SPECIAL_TOKEN,
        "<|",
        "1234",
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=12).map("".join)


def oracle(text: str, **arguments: object) -> list[int]:
    """Encode with tiktoken's own method, which replaces lone surrogates by itself."""
    return tokenizer.gpt2()._encoding.encode(text, **arguments)


def test_the_vocabulary_is_read_as_tiktoken_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")  # no copy is left behind
    assert tokenizer._ranks() == load_tiktoken_bpe(str(resources.path("gpt2/r50k_base.tiktoken")))


def test_a_damaged_vocabulary_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer, "_VOCABULARY_SHA256", "0" * 64)
    with pytest.raises(ValueError, match="is damaged: install Embedding Inspector again"):
        tokenizer._ranks()


def test_every_id_has_its_bytes() -> None:
    gpt2 = tokenizer.gpt2()
    assert gpt2.n_vocab == gpt2._encoding.n_vocab == len(gpt2.token_bytes) == 50257
    assert all(gpt2.token_bytes[i] == gpt2._encoding.decode_single_token_bytes(i) for i in range(gpt2.n_vocab))


@given(TEXTS)
def test_ids_equal_tiktokens(text: str) -> None:
    assert list(encode(text, "plain").ids) == oracle(text, disallowed_special=())
    assert list(encode(text, "special").ids) == oracle(text, allowed_special="all")


@given(TEXTS)
def test_refusal_equals_tiktokens(text: str) -> None:
    tokens = encode(text, "refuse")
    try:
        expected = oracle(text)
    except ValueError:
        assert tokens.refused
        assert not tokens.ids
        return
    assert not tokens.refused
    assert list(tokens.ids) == expected


@given(TEXTS)
def test_ids_give_the_text_back(text: str) -> None:
    tokens = encode(text, "plain")
    assert b"".join(tokenizer.gpt2().token_bytes[i] for i in tokens.ids).decode() == tokens.text
    assert tokens.special_count == text.count(SPECIAL_TOKEN)
    assert tokens.max_id == max(tokens.ids, default=-1)


@pytest.mark.parametrize(
    ("text", "sound", "replaced"),
    [
        ("ab", "ab", 0),
        ("a\ud83d", "a\ufffd", 1),
        ("\ud83d\ude00", "😀", 0),
        ("\ude00\ud83d\ufffd", "\ufffd" * 3, 2),
        ("", "", 0),
    ],
)
def test_lone_surrogates_are_counted(text: str, sound: str, replaced: int) -> None:
    tokens = encode(text, "plain")
    assert (tokens.text, tokens.replaced) == (sound, replaced)


def test_a_megabyte_on_one_line() -> None:
    assert len(encode("a" * 2**20, "plain").ids) > 2**16
    assert list(encode("a" * 2**12, "plain").ids) == oracle("a" * 2**12)


# ---- spans -----------------------------------------------------------------------------------------------------------


@given(TEXTS)
def test_spans_hold_their_tokens(text: str) -> None:
    """A span is the shortest run of characters that holds a token's bytes."""
    tokens = encode(text, "plain")
    tokens.prepare_spans()
    gpt2, at = tokenizer.gpt2(), 0
    data = tokens.text.encode()
    spans = [tokens.span(i, i + 1) for i in range(len(tokens.ids))]
    for token_id, (start, end) in zip(tokens.ids, spans, strict=True):
        first, last = len(tokens.text[:start].encode()), len(tokens.text[:end].encode())
        assert first <= at
        at += len(gpt2.token_bytes[token_id])
        assert at <= last
        assert gpt2.token_bytes[token_id] in data[first:last]
        assert end > start
    assert all(after[0] in (before[1], before[1] - 1) for before, after in pairwise(spans))
    assert tokens.span(0, len(tokens.ids)) == (0, len(tokens.text))


@given(TEXTS)
def test_the_token_of_a_character_holds_it(text: str) -> None:
    tokens = encode(text, "plain")
    for place in range(len(tokens.text)):
        token = tokens.token_at(place)
        assert token is not None
        start, end = tokens.span(token, token + 1)
        assert start <= place < end
        assert token == 0 or tokens.span(token - 1, token)[1] <= place + 1
    assert tokens.token_at(-1) is None
    assert tokens.token_at(len(tokens.text)) is None


def test_a_character_split_among_tokens() -> None:
    tokens = encode("x👩y", "plain")
    spans = [tokens.span(i, i + 1) for i in range(len(tokens.ids))]
    assert spans == [(0, 1), *[(1, 2)] * (len(spans) - 2), (2, 3)]
    assert len(spans) > 3
    assert tokens.token_at(1) == 1


def test_a_span_of_nothing_is_the_end() -> None:
    tokens = encode("ab cd", "plain")
    assert tokens.span(9, 10) == tokens.span(1, 1) == (5, 5)
    assert Tokens("", []).span(0, 1) == (0, 0)


# ---- what can be seen ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        (b" donkey", "·donkey"),
        (b"\r\n\t\x7f\x00", "\\r↵⇥\\x7f\\x00"),
        (b"\xf0\x9f", "\\xf0\\x9f"),
        ("\u00a0\u200b\u2028".encode(), "⟨U+00A0⟩⟨U+200B⟩⟨U+2028⟩"),
        ("\u0301".encode(), "◌\u0301"),
        ("e\u0301".encode(), "e\u0301"),
        ("日".encode(), "日"),
        (b"", ""),
    ],
)
def test_visible(data: bytes, seen: str) -> None:
    assert tokenizer.visible(data) == seen


@given(st.binary(max_size=8))
def test_anything_can_be_seen(data: bytes) -> None:
    seen = tokenizer.visible(data)
    assert len(seen) >= (1 if data else 0)
    assert not any(c in seen for c in " \n\r\t\0\x7f")


def test_quoted() -> None:
    assert tokenizer.quoted("gpt2", 50085) == "' donkey'"
    assert tokenizer.quoted("gpt2", 447) == r"b'\xe2\x80'"
    assert tokenizer.quoted("r50k_base", SPECIAL_ID) == repr(SPECIAL_TOKEN)
    assert tokenizer.quoted("gpt2", 50257) is None
    assert tokenizer.quoted("gpt2", -1) is None
    assert tokenizer.quoted(None, 1) is None


def test_known_size() -> None:
    assert tokenizer.known_size("gpt2", None) == 50257
    assert tokenizer.known_size("gpt2", 100) == 100
    assert tokenizer.known_size("cl100k_base", None) == 100277
    assert tokenizer.known_size(None, None) is None
    assert tokenizer.known_size("no such", None) is None
