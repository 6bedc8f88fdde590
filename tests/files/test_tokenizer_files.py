"""Tokenizers of every kind, made by the libraries that people make them with."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import io
import json
import os
import pickle
import pickletools
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tiktoken.load
import tiktoken_ext.openai_public
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector import resources, tokenizer
from inspector.files import tiktoken_encodings
from inspector.files.tokenizer_files import KINDS, CannotEncode, VocabularyFile, open_tokenizer
from inspector.files.vocabulary import byte_characters, from_byte_characters, from_pieces
from inspector.trouble import FileTrouble, Trouble

tokenizers = pytest.importorskip("tokenizers")

TEXTS = ["", "Every effort moves you", " two  spaces\n\ttab", "naïve café 中文 🙂", "aaaaaaaaaaaa", "don't 12345"]
LESSON = "the quick brown fox jumps over the lazy dog and the other dogs " * 5


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(blobpath: str) -> bytes:
        raise AssertionError(f"{blobpath} was asked for")

    monkeypatch.setattr(tiktoken.load, "read_file", refuse)


@pytest.fixture(scope="module")
def gpt2_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """GPT-2's vocab.json and merges.txt, from its ranks: a token's merge is what its bytes are without it."""
    folder = tmp_path_factory.mktemp("gpt2")
    ranks = tokenizer._ranks()
    character = {byte: c for c, byte in byte_characters().items()}

    def written(token: bytes) -> str:
        return "".join(character[b] for b in token)

    def parts(token: bytes) -> list[bytes]:
        found = [token[i : i + 1] for i in range(len(token))]
        while len(found) > 2:
            joined = [(ranks.get(found[i] + found[i + 1], sys.maxsize), i) for i in range(len(found) - 1)]
            _, i = min(joined)
            found[i : i + 2] = [found[i] + found[i + 1]]
        return found

    vocabulary = {written(token): rank for token, rank in ranks.items()} | {"<|endoftext|>": 50256}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    merges = [" ".join(map(written, parts(token))) for token in ranks if len(token) > 1]
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def gpt2_files(gpt2_folder: Path) -> VocabularyFile:
    return open_tokenizer(gpt2_folder)


def save(path: Path, made: Any) -> Path:
    made.save(str(path))
    return path


def byte_level(path: Path, *, size: int = 300) -> Path:
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator([LESSON], trainer)
    made.add_special_tokens(["<|endoftext|>"])
    made.add_tokens(["donkey"])
    return save(path, made)


def sentence_pieces(path: Path) -> Path:
    vocabulary = {"<unk>": 0, "<s>": 1, **{f"<0x{byte:02X}>": 2 + byte for byte in range(256)}}
    for token in ["▁", "h", "i", "▁h", "▁hi"]:
        vocabulary[token] = len(vocabulary)
    merges = [("▁", "h"), ("▁h", "i")]
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, merges, byte_fallback=True, unk_token="<unk>"))
    made.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.Prepend("▁"), tokenizers.normalizers.Replace(" ", "▁")]
    )
    made.decoder = tokenizers.decoders.Sequence(
        [tokenizers.decoders.Replace("▁", " "), tokenizers.decoders.ByteFallback(), tokenizers.decoders.Fuse()]
    )
    made.add_special_tokens(["<s>"])
    return save(path, made)


def word_pieces(path: Path) -> Path:
    vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "play": 3, "##ing": 4, "##ed": 5}
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    made.decoder = tokenizers.decoders.WordPiece()
    made.add_special_tokens(["[UNK]", "[CLS]", "[SEP]"])
    return save(path, made)


def characters(path: Path, text: str = "hello world\n", protocol: int = 4, **changes: Any) -> Path:
    """Write what nanoGPT's prepare.py of the Shakespeare characters writes."""
    chars = sorted(set(text))
    meta = {
        "vocab_size": len(chars),
        "itos": dict(enumerate(chars)),
        "stoi": {ch: i for i, ch in enumerate(chars)},
        **changes,
    }
    path.write_bytes(pickle.dumps(meta, protocol))
    return path


def trouble(path: Path | str) -> FileTrouble:
    with pytest.raises(FileTrouble) as caught:
        open_tokenizer(path)
    assert caught.value.reason
    assert caught.value.help
    return caught.value


# ---- tiktoken ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gpt2", "r50k_base"])
def test_the_shipped_encoding(name: str) -> None:
    found = open_tokenizer(name)
    assert (found.name, found.n_vocab, found.special) == (name, 50257, {"<|endoftext|>": 50256})
    assert found.encode("donkey<|endoftext|>", special=True)[-1] == 50256
    assert 50256 not in found.encode("donkey<|endoftext|>", special=False)
    assert found.token_bytes(256) == b" t"
    assert found.token_bytes(50257) is found.token_bytes(-1) is None


def test_origins_are_those_tiktoken_declares() -> None:
    source = inspect.getsource(tiktoken_ext.openai_public)
    for name, origin in tiktoken_encodings.ORIGINS.items():
        declared = inspect.getsource(getattr(tiktoken_ext.openai_public, name))
        if name != "o200k_harmony":  # which builds on o200k_base
            assert f"{tiktoken_encodings._ADDRESS}{origin.file}" in declared
            assert origin.sha256 in declared
        assert origin.sha256 in source
    assert set(tiktoken_encodings.NAMES) == set(tiktoken.list_encoding_names())
    assert set(tiktoken_encodings.NAMES) == set(tokenizer.ENCODING_SIZES)


def test_an_encoding_that_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    found = trouble("cl100k_base")
    assert str(found) == "the encoding cl100k_base: is not on this machine"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert trouble("cl100k_base").trouble is Trouble.UNREADABLE


def test_an_encoding_from_tiktokens_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    path = tiktoken_encodings.cached("r50k_base")
    assert path is not None
    shutil.copy(resources.path("gpt2/r50k_base.tiktoken"), path)
    found, shipped = tiktoken_encodings.open_cached("r50k_base"), open_tokenizer("r50k_base")
    assert (found.n_vocab, found.special) == (shipped.n_vocab, shipped.special)
    for text in TEXTS:
        assert found.encode(text, special=False) == shipped.encode(text, special=False)
    assert [found.token_bytes(i) for i in range(-1, 50258)] == [shipped.token_bytes(i) for i in range(-1, 50258)]


def test_a_damaged_cache_is_left_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """tiktoken would delete it and download again."""
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    path = tiktoken_encodings.cached("o200k_base")
    assert path is not None
    path.write_bytes(b"IQ== 0\n")
    assert trouble("o200k_base").trouble is Trouble.NOT_RECOGNISED
    assert path.read_bytes() == b"IQ== 0\n"


def test_a_failed_download_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr(tiktoken, "get_encoding", broken)
    with pytest.raises(FileTrouble, match="cl100k_base: could not be fetched: no route to host"):
        tiktoken_encodings.fetch("cl100k_base")


def test_a_name_that_is_none() -> None:
    assert "cl100k_base" in trouble("cl100k_bsae").help


# ---- vocab.json and merges.txt -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "vocab.json", "merges.txt"])
def test_gpt2s_own_files(gpt2_folder: Path, name: str) -> None:
    found = open_tokenizer(gpt2_folder / name)
    assert (found.n_vocab, found.special) == (50257, {"<|endoftext|>": 50256})


def test_gpt2s_own_files_encode_as_tiktoken(gpt2_files: VocabularyFile) -> None:
    found, expected = gpt2_files, open_tokenizer("gpt2")
    for text in [*TEXTS, resources.text("sample.txt"), "a<|endoftext|>b"]:
        for special in (False, True):
            assert found.encode(text, special=special) == expected.encode(text, special=special)
    assert [found.token_bytes(i) for i in range(50258)] == [expected.token_bytes(i) for i in range(50258)]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
@settings(max_examples=200)
def test_any_text_encodes_as_tiktoken(gpt2_files: VocabularyFile, text: str) -> None:
    assert gpt2_files.encode(text, special=False) == tokenizer.gpt2().encode(text, special=False)


def test_spans_cover_the_characters(gpt2_files: VocabularyFile) -> None:
    text = "naïve 🙂 donkey"
    spans = gpt2_files.spans(text, special=False)
    assert spans is not None
    assert len(spans) == len(gpt2_files.encode(text, special=False))
    assert {i for start, end in spans for i in range(start, end)} == set(range(len(text)))
    assert text[slice(*spans[-1])] == " donkey"


def test_without_merges_ids_can_be_read(gpt2_folder: Path, tmp_path: Path) -> None:
    shutil.copy(gpt2_folder / "vocab.json", tmp_path)
    found = open_tokenizer(tmp_path / "vocab.json")
    assert found.n_vocab == 50257
    assert found.token_bytes(256) == b" t"
    with pytest.raises(CannotEncode, match=r"no merges\.txt"):
        found.encode("text", special=False)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("merges.txt", "#version: 0.2\nĠ qqqq\n", "line 2"),
        ("merges.txt", "#version: 0.2\nĠ t\nĠ", "line 3"),
        ("merges.txt", "#version: 0.2\nĠ t\n", "is cut: its 1 merges"),
        ("vocab.json", '{"a": 0}', "lacks tokens for some of the 256 bytes"),
        ("vocab.json", '{"a": 0, "b": 0}', "no number of its own"),
        ("vocab.json", '{"a": -1}', "no number of its own"),
        ("vocab.json", '{"a": true}', "no number of its own"),
        ("vocab.json", "{}", "empty"),
        ("vocab.json", '{"a": 0', "not JSON"),
    ],
)
def test_broken_pairs(gpt2_folder: Path, tmp_path: Path, name: str, text: str, reason: str) -> None:
    for each in ("vocab.json", "merges.txt"):
        shutil.copy(gpt2_folder / each, tmp_path)
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert reason in trouble(tmp_path / name).reason


def test_merges_alone_name_what_is_missing(gpt2_folder: Path, tmp_path: Path) -> None:
    shutil.copy(gpt2_folder / "merges.txt", tmp_path)
    found = trouble(tmp_path / "merges.txt")
    assert found.path.endswith("vocab.json")
    assert found.reason == "is not there"


def test_merges_that_are_no_text(gpt2_folder: Path, tmp_path: Path) -> None:
    shutil.copy(gpt2_folder / "vocab.json", tmp_path)
    (tmp_path / "merges.txt").write_bytes(b"\xc4\xa0 t\n\xff")
    assert trouble(tmp_path / "merges.txt").reason == "is not UTF-8 text: byte 5 is 0xff"


# ---- tokenizer.json ----------------------------------------------------------------------------------------------


def test_byte_level(tmp_path: Path) -> None:
    path = byte_level(tmp_path / "tokenizer.json")
    found, own = open_tokenizer(tmp_path), tokenizers.Tokenizer.from_file(str(path))
    assert found.name == str(path)
    assert found.n_vocab == own.get_vocab_size()
    assert found.special == {"<|endoftext|>": own.token_to_id("<|endoftext|>")}
    for text in TEXTS:
        ids = found.encode(text, special=False)
        assert ids == own.encode(text).ids
        assert b"".join(found.token_bytes(i) or b"" for i in ids) == text.encode()
    assert found.token_bytes(own.token_to_id("donkey")) == b"donkey"
    assert found.token_bytes(found.n_vocab) is None


def test_special_tokens_are_taken_as_asked(tmp_path: Path) -> None:
    found = open_tokenizer(byte_level(tmp_path / "tokenizer.json"))
    end = found.special["<|endoftext|>"]
    assert end in found.encode("a<|endoftext|>", special=True)
    assert end not in found.encode("a<|endoftext|>", special=False)
    assert end in found.encode("a<|endoftext|>", special=True)


def test_settings_that_change_the_ids_play_no_part(tmp_path: Path) -> None:
    path = byte_level(tmp_path / "tokenizer.json")
    plain = open_tokenizer(path).encode(LESSON, special=False)
    own = tokenizers.Tokenizer.from_file(str(path))
    own.enable_truncation(4)
    own.enable_padding(length=10_000)
    own.save(str(path))
    changed = json.loads(path.read_text(encoding="utf-8"))
    changed["model"]["dropout"] = 0.5
    path.write_text(json.dumps(changed), encoding="utf-8")
    assert open_tokenizer(path).encode(LESSON, special=False) == plain


def test_sentence_pieces(tmp_path: Path) -> None:
    found = open_tokenizer(sentence_pieces(tmp_path / "tokenizer.json"))
    ids = found.encode("hi\n", special=False)
    assert [found.token_bytes(i) for i in ids] == [b" hi", b"\n"]
    assert found.token_bytes(found.special["<s>"]) == b"<s>"


def test_word_pieces(tmp_path: Path) -> None:
    found = open_tokenizer(word_pieces(tmp_path / "tokenizer.json"))
    ids = found.encode("Playing", special=False)
    assert [found.token_bytes(i) for i in ids] == [b"play", b"##ing"]
    assert found.spans("Playing", special=False) == [(0, 4), (4, 7)]
    assert set(found.special) == {"[UNK]", "[CLS]", "[SEP]"}


def test_a_list_of_scores(tmp_path: Path) -> None:
    model = tokenizers.models.Unigram([("<unk>", 0.0), ("▁hi", -1.0), ("▁", -2.0), ("x", -3.0)], 0)
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    found = open_tokenizer(save(tmp_path / "mine.json", made))
    assert found.n_vocab == 4
    assert [found.token_bytes(i) for i in found.encode("hi x", special=False)] == [b" hi", b" ", b"x"]


def test_the_package_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = byte_level(tmp_path / "tokenizer.json")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert trouble(path).help == "pip install tokenizers"


def test_an_encoder_that_gives_up(tmp_path: Path) -> None:
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, unk_token="[UNK]"))
    found = open_tokenizer(save(tmp_path / "tokenizer.json", made))
    with pytest.raises(CannotEncode, match="no tokens for this text"):
        found.encode("b", special=False)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{}", "it has no model with a vocab"),
        ('{"model": {"vocab": 3}}', "empty or no object"),
        ('{"model": {"vocab": [["a"], 3]}}', "does not list tokens"),
        ('{"model": {"vocab": {"a": 0}}, "added_tokens": 3}', "no list"),
        ('{"model": {"vocab": {"a": 0}}, "added_tokens": [{"id": 1}]}', "no content or no ID"),
        ('{"model": {"type": "Foo", "vocab": {"a": 0}}}', "not a tokenizer that the tokenizers package reads"),
        ('{"model": {"vocab": {"a": 99999999999}}}', "no number of its own"),
        ('{"model": ' * 100_000, "nested too deeply"),
    ],
)
def test_broken_json(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(text, encoding="utf-8")
    assert reason in trouble(path).reason


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    for name in ("tokenizer.json", "vocab.json", "meta.pkl"):
        path = tmp_path / name
        with path.open("wb") as file:
            file.write(b"{")
            file.truncate(10 * 2**30)
        assert "too long" in trouble(path).reason


# ---- meta.pkl ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(1, pickle.HIGHEST_PROTOCOL + 1))
def test_characters(tmp_path: Path, protocol: int) -> None:
    found = open_tokenizer(characters(tmp_path / "meta.pkl", "héllo\n", protocol))
    assert (found.n_vocab, found.special) == (5, {})
    ids = found.encode("hollé\n", special=False)
    assert b"".join(found.token_bytes(i) or b"" for i in ids) == "hollé\n".encode()
    assert found.token_bytes(5) is found.token_bytes(-1) is None
    with pytest.raises(CannotEncode, match="'z' is not among the 5 characters"):
        found.encode("hz", special=False)


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_a_pickle_with_code_is_refused_and_not_run(tmp_path: Path, protocol: int) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "ran"),)

    found = trouble(characters(tmp_path / "meta.pkl", protocol=protocol, more=Bomb()))
    assert found.trouble is Trouble.PICKLE_REFUSED
    assert "mkdir" in found.reason
    assert not (tmp_path / "ran").exists()


def test_a_pickle_of_the_first_protocol(tmp_path: Path) -> None:
    """Nothing has written these by itself for twenty years."""
    assert "instruction UNICODE" in trouble(characters(tmp_path / "meta.pkl", protocol=0)).reason


@pytest.mark.parametrize(
    ("meta", "reason"),
    [
        ({"stoi": {}}, "without itos and stoi"),
        ([1, 2], "without itos and stoi"),
        ({"itos": {}, "stoi": {}}, "itos"),
        ({"itos": {0: 1}, "stoi": {}}, "itos"),
        ({"itos": {-1: "a"}, "stoi": {}}, "itos"),
        ({"itos": {True: "a"}, "stoi": {}}, "itos"),
        ({"itos": {0: "a"}, "stoi": {"a": 1}}, "contradicts itself"),
        ({"itos": {0: "a"}, "stoi": {"a": "0"}}, "stoi"),
        ({"itos": {5: "a"}, "stoi": {"a": 5}, "vocab_size": 1}, "vocab_size"),
        ({"itos": {0: "a"}, "stoi": {"a": 0}, "vocab_size": "1"}, "vocab_size"),
    ],
)
def test_pickles_of_something_else(tmp_path: Path, meta: Any, reason: str) -> None:
    path = tmp_path / "meta.pkl"
    path.write_bytes(pickle.dumps(meta))
    assert reason in trouble(path).reason


def test_a_list_serves_as_itos(tmp_path: Path) -> None:
    path = tmp_path / "meta.pkl"
    path.write_bytes(pickle.dumps({"itos": ["a", "b"], "stoi": {"a": 0, "b": 1}}))
    assert open_tokenizer(path).encode("ba", special=False) == [1, 0]


# ---- all of them -------------------------------------------------------------------------------------------------


MAKERS = [byte_level, sentence_pieces, word_pieces, characters]


@pytest.mark.parametrize("make", MAKERS)
@given(data=st.data())
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
def test_damaged_files(tmp_path: Path, make: Any, data: st.DataObject) -> None:
    """Whatever is done to a file, it opens or is a `FileTrouble`, and what opens can be asked anything."""
    name = "meta.pkl" if make is characters else "tokenizer.json"
    original = tmp_path / f"original-{name}"
    if not original.exists():
        make(original)
    content = bytearray(original.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        length = data.draw(st.integers(0, 8))
        content[place : place + length] = data.draw(st.binary(max_size=8))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content))) :]
    path = tmp_path / name
    path.write_bytes(content)
    try:
        found = open_tokenizer(path)
    except FileTrouble:
        return
    assert found.n_vocab >= 1
    for token_id in (-1, 0, 5, found.n_vocab - 1, found.n_vocab, 2**40):
        assert found.token_bytes(token_id) is None or 0 <= token_id < found.n_vocab
    with contextlib.suppress(CannotEncode):
        assert all(0 <= i < found.n_vocab for i in found.encode("hello <s> dog\n", special=True))


@pytest.mark.parametrize("make", MAKERS)
def test_truncated_files(tmp_path: Path, make: Any) -> None:
    name = "meta.pkl" if make is characters else "tokenizer.json"
    path = make(tmp_path / name)
    whole = path.read_bytes()
    for length in [*range(0, len(whole) - 1, max(1, len(whole) // 60)), len(whole) - 1]:
        path.write_bytes(whole[:length])
        trouble(path)


def test_what_is_no_file(tmp_path: Path) -> None:
    assert trouble(tmp_path).reason == "holds no tokenizer"
    assert trouble(tmp_path / "tokenizer.json").reason == "is not there"
    (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")
    assert all(kind.name in trouble(tmp_path / "notes.txt").help for kind in KINDS)
    assert trouble("bad\0name.json").trouble is Trouble.UNREADABLE
    os.mkfifo(tmp_path / "meta.pkl")
    assert trouble(tmp_path / "meta.pkl").reason == "is a pipe, not a file"


def test_bytes_of_tokens() -> None:
    assert len(byte_characters()) == 256
    assert sorted(byte_characters().values()) == list(range(256))
    assert byte_characters().keys() == set(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    assert from_byte_characters("Ġdonkey") == b" donkey"
    assert from_byte_characters("中") == "中".encode()
    assert from_pieces("<0x0A>") == b"\n"
    assert from_pieces("<0xZZ>") == b"<0xZZ>"
    assert from_pieces("\ud800") == b"?"


def test_the_same_file_opens_the_same_way(tmp_path: Path) -> None:
    path = byte_level(tmp_path / "tokenizer.json")
    digest = hashlib.sha256(path.read_bytes()).digest()
    first, second = open_tokenizer(path), open_tokenizer(path)
    assert first.encode(LESSON, special=False) == second.encode(LESSON, special=False)
    assert hashlib.sha256(path.read_bytes()).digest() == digest


def test_instructions_of_a_real_meta_are_few(tmp_path: Path) -> None:
    """What nanoGPT writes asks for no name at all."""
    data = characters(tmp_path / "meta.pkl").read_bytes()
    names = {opcode.name for opcode, _, _ in pickletools.genops(io.BytesIO(data))}
    assert not names & {"GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD", "INST", "OBJ", "NEWOBJ"}
