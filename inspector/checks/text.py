"""Faults between a text and its token IDs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.checks import words
from inspector.checks.registry import fault
from inspector.diagnosis import Severity, Stage
from inspector.recipe import is_size
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
    has to be told what they are: `encode(text)` refuses them (a `ValueError`), `encode(text, allowed_special="all")`
    makes them the one special token, and `encode_ordinary(text)` (the same as `disallowed_special=()`) makes them some
    seven ordinary tokens.

    None of the three is wrong everywhere. A training text that was joined from documents wants the special token; a
    text that a stranger typed must not be able to end a document, and wants ordinary ones.

    What does not help: deleting the characters `<|` from the text, which leaves `endoftext` as a word in it.

        import tiktoken
        tokenizer = tiktoken.get_encoding("gpt2")
        ids = tokenizer.encode(text, allowed_special={"<|endoftext|>"})
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

    A lone surrogate (U+D800 to U+DFFF) is half of a character. It gets into a Python text when JSON with a cut-off
    `\ud83d` is read, when a text is cut in the middle of an emoji by a language that counts in UTF-16, or when a file
    was read with `errors="surrogateescape"`. Such a text cannot be encoded as UTF-8; tiktoken silently puts U+FFFD, the
    replacement character, in its place, so the model sees three tokens of nothing where a character was.

    The remedy is where the text comes from: read files with their true encoding, cut texts between characters.

        sound = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    """
    if facts.tokens is None or not facts.tokens.replaced:
        return
    replaced = facts.tokens.replaced
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

    tiktoken gives an empty list, the loader has no sample, and the training loop runs zero times without a word. With
    other tokenizers the empty list becomes `torch.tensor([])`, which is *float32*: the embedding then complains of a
    dtype (`Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int`) although
    the text was empty.

    Look at where the text is read: a wrong path opened for writing, a filter that left nothing, an empty cell.
    """
    if facts.tokens is not None and not facts.tokens.text:
        yield kind.diagnosis("the text is empty, so there are no token IDs", "type or paste a text", fields=["text"])


@fault(
    code="T104",
    name="ids-from-another-tokenizer",
    stage=Stage.TOKENIZER,
    torch=words.INDEX_ERROR,
    example={"token_ids": [[464, 60000, 318, 257]]},
)
def ids_from_another_tokenizer(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The IDs hold numbers that the stated tokenizer never gives, and the table has no row for them.

    A GPT-2 tokenizer gives IDs from 0 to 50256. An ID of 60000 beside it came from somewhere else: another model's
    tokenizer, a file tokenised long ago, labels taken for inputs. PyTorch only says `index out of range in self`, and
    growing the table to fit would silence that while every other ID still means another word than it should.

    On a GPU the look-up ends in a device-side assert at a later line; under MPS it often says nothing at all.

    Tokenise the text again with the model's own tokenizer, or load the model that belongs to these IDs.
    """
    rows, n_vocab = facts.token_layer.num_embeddings, facts.n_vocab
    if n_vocab is None or not is_size(rows):
        return
    limit = max(n_vocab, int(rows or 0))
    cells = facts.cells(lambda i: i >= limit)
    if not cells or id_equals_row_count(facts):
        return
    found = [facts.id_at(cell) for cell in cells]
    name = facts.config.tokenizer.encoding
    stated = f"the {name} tokenizer" if name else "the stated tokenizer"
    yield kind.diagnosis(
        f"{words.ids(facts, found)} cannot come from {stated}, whose IDs are 0 to {n_vocab - 1}, "
        f"and the token table has rows 0 to {int(rows or 0) - 1}",
        "tokenise the text again with this model's tokenizer, or use the model these IDs were made for; "
        "a larger table would only hide it",
        cells=cells,
        fields=["token_ids", "tokenizer.n_vocab", "tokenizer.encoding"],
        data={"max_id": max(found), "n_vocab": n_vocab, "num_embeddings": rows},
    )


def id_equals_row_count(facts: Facts) -> bool:
    """Return whether the only ID without a row is the number of rows itself: one token too many, or IDs from 1."""
    rows = facts.token_layer.num_embeddings
    return is_size(rows) and facts.max_id == rows


@fault(
    code="T105",
    name="id-unknown-to-tokenizer",
    stage=Stage.TOKENIZER,
    severity=Severity.WARNING,
    torch="no error",
    example={"token_ids": [[464, 50300, 318, 257]], "token_embedding": {"num_embeddings": 50304}},
)
def id_unknown_to_tokenizer(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """An ID lies beyond the tokenizer, in rows that only pad the table.

    Tables are often padded to a round number of rows (GPT-2's 50257 to 50304) so that they divide well. The rows
    beyond the tokenizer exist, so the look-up works; but no text leads to them, they were never trained, and a
    tokenizer cannot decode them (`None`, an exception, or a panic). An ID there usually was sampled from the model's
    output, which has logits for padding too, or it is a special token added outside the tokenizer.

    Mask the logits beyond the tokenizer's size before sampling, or add the special token to the tokenizer.
    """
    rows, n_vocab = facts.token_layer.num_embeddings, facts.n_vocab
    if n_vocab is None or not is_size(rows):
        return
    cells = facts.cells(lambda i: n_vocab <= i < int(rows or 0))
    if not cells:
        return
    found = [facts.id_at(cell) for cell in cells]
    yield kind.diagnosis(
        f"{words.ids(facts, found)} {words.have(found)} a row in the token table (rows {words.rows(rows)}) "
        f"but no token: the tokenizer's IDs are 0 to {n_vocab - 1}",
        "use IDs of the tokenizer only; if this is an added special token, count it in tokenizer.n_vocab",
        cells=cells,
        fields=["token_ids", "tokenizer.n_vocab"],
        data={"max_id": max(found), "n_vocab": n_vocab, "num_embeddings": rows},
    )
