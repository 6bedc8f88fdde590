"""Texts to type into: as long as wanted, in lines of a book's width or in one endless line."""

import itertools

_WORDS = (
    "I had always thought Jack Gisburn rather a cheap genius, though a good fellow enough, so it was no great surprise "
    "to me to hear that, in the height of his glory, he had dropped his painting, married a rich widow, and "
    "established himself in a villa on the Riviera, naïvely, as one does. "
)
_TYPED = "the quick brown fox jumps over the lazy dog, and nobody minds; "


def prose(length, *, lines=True):
    """Return a text of so many characters, in lines of some 200 or in one line."""
    copies = _WORDS * (length // len(_WORDS) + 1)
    if not lines:
        return copies[:length]
    words, parts, width = copies.split(" "), [], 0
    for word in words:
        width += len(word) + 1
        parts.append(word)
        parts.append("\n" if width > 200 else " ")
        width = 0 if width > 200 else width
    return "".join(parts)[:length]


def typed(count):
    """Return so many characters to type, one by one."""
    return "".join(itertools.islice(itertools.cycle(_TYPED), count))
