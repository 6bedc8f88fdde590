"""The command line: `check` and `explain` without Qt, otherwise the window."""

from __future__ import annotations

import argparse
import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_OK, EXIT_FAULT, EXIT_COULD_NOT_RUN = 0, 1, 2

_DESCRIPTION = """\
Open the window, on files if any are named. Commands that need no window:

  check [FILE]      judge an inspection file (the lesson, without one)
  explain [NAME]    print the page of a fault; without NAME list them all
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program with these arguments and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, TextIOWrapper):  # a terminal may not know every character of a text
        sys.stdout.reconfigure(errors="backslashreplace")
    commands = {"check": _check, "explain": _explain}
    command = commands.get(arguments[0]) if arguments else None
    return command(arguments[1:]) if command else _window(arguments)


def _say(text: str) -> None:
    """Print a text; a reader that has read enough (`... | head`) is no fault."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _check(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m inspector check",
        description="Judge an inspection. Exit code 0: no error found; 1: at least one; 2: could not run.",
    )
    parser.add_argument("file", nargs="?", type=Path, help="inspection file, JSON or TOML (default: the lesson)")
    parser.add_argument("--text", help="judge this text instead of the file's")
    parser.add_argument("--batch", type=int, default=0, help="which batch to judge (default 0)")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    args = parser.parse_args(arguments)

    from inspector import api, inspection_file

    try:
        values = {} if args.text is None else {"text": args.text}
        config = inspection_file.read(args.file) if args.file else inspection_file.from_mapping({})
        result = api.judge(inspection_file.changed(config, values), args.batch)
    except (inspection_file.InspectionFileError, IndexError) as e:
        return _could_not_run(str(e))
    _say(result.to_json() if args.format == "json" else result.explain())
    return EXIT_OK if result.ok else EXIT_FAULT


def _explain(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m inspector explain", description="Print the page of a fault.")
    parser.add_argument("name", nargs="?", help="its name or code, such as token-id-out-of-range or E301")
    parser.add_argument("--message", metavar="FILE", help="read an error message from this file (- for standard input)")
    args = parser.parse_args(arguments)

    from inspector import checks, pages

    if args.message is not None:
        if args.name is not None:
            parser.error("give the name of a fault or --message, not both")
        return _explain_message(args.message)
    if args.name is None:
        _say(pages.index())
        return EXIT_OK
    found = checks.find(args.name)
    if not found:
        return _could_not_run(f"there is no fault {args.name!r}; `explain` without a name lists them all")
    _say("\n\n".join(pages.page(kind) for kind in found))
    return EXIT_OK


def _explain_message(source: str) -> int:
    from inspector import messages

    try:
        data = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    except OSError as e:
        return _could_not_run(f"{source}: {e.strerror or e}")
    readings = messages.read(data.decode("utf-8", "replace"))
    if not readings:
        return _could_not_run("no message in it is known; paste the last line of the traceback and the lines above it")
    _say("\n\n".join(messages.words(reading) for reading in readings))
    return EXIT_OK


def _window(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="embedding-inspector", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help="inspection, text, checkpoint, token IDs or tokenizer"
    )
    parser.add_argument("--scheme", choices=("light", "dark"), help="use this colour scheme")
    parser.add_argument("--version", action="store_true", help="print the version")
    args = parser.parse_args(arguments)
    for path in args.files:
        if not path.suffix and len(path.parts) == 1 and not path.exists():
            return _could_not_run(f"there is no command and no file {str(path)!r}; commands are check and explain")
    if args.version:
        from inspector import __version__

        _say(f"Embedding Inspector {__version__}")
        return EXIT_OK

    from inspector import startup

    reason = startup.why_no_window()
    if reason:
        return _could_not_run(reason)
    from inspector.ui import app

    return app.run(args.files, scheme=args.scheme)


def _could_not_run(reason: str) -> int:
    print(reason, file=sys.stderr)
    return EXIT_COULD_NOT_RUN
