"""Faults between a text and its token IDs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.checks import words
from inspector.checks.registry import fault
from inspector.diagnosis import Severity, Stage
from inspector.tokenizer import SPECIAL_ID, SPECIAL_TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts


_DOCUMENTS = "A first document.<|endoftext|>A second one."
_ONE_SAMPLE = {"batch_size": 1}


@fault(
    code="T101",
    name="special-token-in-text",
    stage=Stage.TOKENIZER,
    torch="ValueError: Encountered text corresponding to disallowed special token '<|endoftext|>'",
    example={"text": _DOCUMENTS, "tokenizer": {"special_tokens": "refuse"}, "loader": _ONE_SAMPLE},
)
def special_token_in_text(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The text holds the characters of a special token.

    `<|endoftext|>` is one token, 50256, that marks where a document ends. When its characters occur in a text, tiktoken
    has to be told what they are: `encode(text)` refuses them with a `ValueError`, `encode(text, allowed_special="all")`
    makes them the one special token, and `encode_ordinary(text)` (or `disallowed_special=()`) makes them seven ordinary
    tokens. This happens before any tensor is made, so it is the same on the CPU, on a GPU, on MPS and under
    `torch.compile`.

    How people meet it: a training text joined from documents, a data set that was cleaned badly, a chat in which
    somebody asks about the token itself.

    None of the three answers is wrong everywhere. A training text that was joined on purpose wants the special token; a
    text that a stranger typed must not be able to end a document, and wants ordinary ones.

    What does not help: deleting `<|` from the text, which leaves `endoftext` in it as a word; catching the
    `ValueError`, which drops the document.

        import tiktoken

        text = "A first document.<|endoftext|>A second one."
        tokenizer = tiktoken.get_encoding("gpt2")
        joined = tokenizer.encode(text, allowed_special={"<|endoftext|>"})   # 50256 once
        typed = tokenizer.encode(text, disallowed_special=())                # as a stranger's words
        print(len(joined), len(typed))
    """
    tokens = facts.tokens
    if tokens is None or not tokens.special_count:
        return
    treatment = facts.config.tokenizer.special_tokens
    where = f"the text holds {SPECIAL_TOKEN}" + (f" {tokens.special_count} times" if tokens.special_count > 1 else "")
    if treatment == "refuse":
        yield kind.diagnosis(
            f"{where}, a special token that the tokenizer was told to refuse",
            'say what it is: allowed_special="all" makes it the one token '
            f"{SPECIAL_ID}, disallowed_special=() makes it ordinary text",
            fields=["tokenizer.special_tokens", "text"],
            fix={"tokenizer.special_tokens": "special"},
            data={"count": tokens.special_count},
        )
        return
    became = f"one token each, {SPECIAL_ID}" if treatment == "special" else "ordinary text, several tokens each"
    yield kind.diagnosis(
        f"{where}, encoded as {became}",
        "nothing to do if that is meant",
        severity=Severity.NOTE,
        torch="no error",
        fields=["tokenizer.special_tokens"],
        data={"count": tokens.special_count},
    )


@fault(
    code="T102",
    name="text-not-unicode",
    stage=Stage.TOKENIZER,
    severity=Severity.WARNING,
    torch="no error: tiktoken replaces the characters",
    example={"text": "half of an emoji: \ud83d and so on", "loader": _ONE_SAMPLE},
)
def text_not_unicode(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    r"""The text holds halves of characters that no encoding can write.

    A lone surrogate (U+D800 to U+DFFF) is half of a character. Such a text cannot be written as UTF-8, and tiktoken
    silently puts U+FFFD, the replacement character, in its place: the model reads a token of nothing where a character
    was. PyTorch sees only the IDs and says nothing, on any device.

    How people meet it: JSON with a cut-off `\ud83d`, a text cut in the middle of an emoji by a language that counts in
    UTF-16, a file read with `errors="surrogateescape"`.

    What does not help: `errors="ignore"` when the text is written, which loses the characters; another tokenizer, which
    replaces or refuses them too. The remedy lies where the text comes from: read files with their true encoding and cut
    texts between characters. Two halves that belong together can be joined again:

        broken = "\ud83d\ude00 and \ud83d"
        sound = broken.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        print(sound)   # the first two were one emoji, the last is U+FFFD
    """
    if facts.tokens is None or not facts.tokens.replaced:
        return
    replaced = facts.tokens.replaced
    if facts.config.text_file is not None:
        yield kind.diagnosis(
            f"{facts.config.text_file} is not all UTF-8 text: {words.count(replaced, 'place')} "
            f"{'was' if replaced == 1 else 'were'} encoded as U+FFFD, the replacement character",
            "save it as UTF-8, or read it with its true encoding (UTF-16, Latin-1) and give the text",
            fields=["text_file"],
            subject=facts.config.text_file,
            data={"replaced": replaced},
        )
        return
    yield kind.diagnosis(
        f"the text holds {words.count(replaced, 'lone surrogate')} (half of a character); "
        f"{'it was' if replaced == 1 else 'they were'} encoded as U+FFFD, the replacement character",
        "read the text again with its true encoding, or cut it between characters",
        fields=["text"],
        data={"replaced": replaced},
    )


@fault(
    code="T103",
    name="text-empty",
    stage=Stage.TOKENIZER,
    severity=Severity.NOTE,
    torch="no error; some tokenizers give an empty float tensor, which an embedding refuses",
    example={"text": ""},
)
def text_empty(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """There is no text, so there are no token IDs.

    tiktoken gives an empty list, the loader has no sample, and the training loop runs zero times without a word, on any
    device. Other tokenizers hand the empty list to `torch.tensor([])`, which is *float32*: the embedding then complains
    of a dtype (`Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int`), on a
    GPU and under `torch.compile` too, although the text was empty.

    How people meet it: a file opened for writing instead of reading, a filter that left nothing, an empty cell of a
    table.

    What does not help: converting the tensor with `.long()`, which makes an empty batch that fails later.

        import torch

        text = ""
        ids = torch.tensor([ord(c) for c in text])
        print(ids.dtype)   # torch.float32: nothing in it said that these are integers
        if not text.strip():
            print("nothing to tokenise: look at where the text is read")
    """
    if facts.tokens is not None and not facts.tokens.characters:
        yield kind.diagnosis("the text is empty, so there are no token IDs", "type or paste a text", fields=["text"])
