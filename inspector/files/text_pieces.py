"""A text in pieces that can be encoded one by one: their IDs, joined, are those of the whole text.

GPT-2's tokenizer first splits a text by a pattern, and nothing of what it makes of one part depends on another. Which
parts there are depends on very little: no part runs from a sign that is not white space into white space, none from a
letter into a digit or back, none from either into punctuation, and what follows the next sign is looked at only behind
white space. So a text may be cut in all of these places, whatever comes before and after. A part never reaches
backwards, so the rest is split as it is in the whole.

The cuts are found in the bytes, where what follows a cut is ASCII or the first byte of a character, so that bytes which
are not UTF-8 are the same ones on both sides as in the whole.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from inspector.files.source import Source

PIECE = 2**18  # bytes: a first batch at once, and no step so long that a window would be seen to wait
MOST = 2**22  # bytes without a place to cut; encoding as many that are all alike takes seconds

_FIRST_LOOK = 2**9  # bytes from the end in which most texts have a place to cut
_NEXT_LOOKS = 2**14  # bytes that are searched without a pause

_CUT = re.compile(
    rb"""
    # white space behind a character that is none: ASCII, or the end of any longer one but the white ones of Unicode
      (?<=[!-~]) (?=[\t\n\r\x20])
    | (?<=[\x80-\xff])
      (?<!\xc2[\x85\xa0]) (?<!\xe1\x9a\x80) (?<!\xe2\x80[\x80-\x8a\xa8\xa9\xaf]) (?<!\xe2\x81\x9f) (?<!\xe3\x80\x80)
      (?=[\t\n\r\x20])
    # a change between letters, digits and punctuation, but not before "|", which a special token has inside
    | (?<=[A-Za-z]) (?=[0-9!-/:-@\[-`{}~])
    | (?<=[0-9]) (?=[A-Za-z!-/:-@\[-`{}~])
    # a Chinese character before a digit, a comma of either kind or a full stop
    | (?<=[\xe5-\xe8][\x80-\xbf][\x80-\xbf]) (?=[0-9]|\xe3\x80[\x81\x82]|\xef\xbc\x8c)
    """,
    re.VERBOSE,
)


def piece_at(source: Source, offset: int, size: int = PIECE, most: int = MOST) -> bytes:
    """Return the bytes of a text from `offset` up to a place where it can be cut: some `size`, or more if it must be.

    `offset` is 0 or itself such a place.

    Raises:
        FileTrouble: the file was changed, cut or taken away, or has no such place in `most` bytes.
    """
    data = bytearray()
    with source.reading() as stream:
        while True:
            searched = len(data)
            end = min(offset + searched + size, source.size)
            data += bytes(end - offset - searched)
            stream.fill(memoryview(data)[searched:], offset + searched)
            if end == source.size:
                return bytes(data)
            if cut := _last_cut(data, searched):
                return bytes(data[:cut])
            if len(data) >= most:
                raise FileTrouble(
                    Trouble.NOT_RECOGNISED,
                    source.path,
                    f"has {len(data):,} bytes from byte {offset:,} on without white space, digits or punctuation "
                    "between letters, so it is hardly a text",
                    "cut it in files of a few megabytes, or write its token IDs into a file",
                )


def _last_cut(data: bytearray, searched: int) -> int:
    """Return the last place to cut from `searched` on; 0 where there is none."""
    end, look = len(data), _FIRST_LOOK
    while end > searched:
        start = max(searched, end - look)
        # Three bytes more on the right: what follows a cut at the edge has to be seen.
        places = [m.start() for m in _CUT.finditer(data, start, min(len(data), end + 3)) if m.start() < end]
        if places and places[-1]:
            return places[-1]
        end, look = start, _NEXT_LOOKS
    return 0
