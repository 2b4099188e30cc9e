"""The command line: `rowhop ask`, `show`, `chat` and the rest.

This is the one place where errors become sentences and exit codes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

ANSWERED, FAULT, USAGE, UNKNOWN, GAVE_UP, AMBIGUOUS, STOPPED = 0, 1, 2, 3, 4, 5, 130


def main() -> None:
    """Entry point of the `rowhop` command."""
    try:
        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        # Ctrl-C while modules were still being imported, or while the end was being written.
        print("Stopped.", file=sys.stderr)
        sys.exit(STOPPED)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; every error becomes one sentence on stderr."""
    from typer.exceptions import Abort, TyperException

    from rowhop.cli.app import app
    from rowhop.cli.screen import complain, prepare
    from rowhop.errors import RowhopError, UserError

    prepare()
    try:
        code = app(args=list(arguments), prog_name="rowhop", standalone_mode=False)
        sys.stdout.flush()
        # typer turns Ctrl-C into this code by itself.
        return complain("Stopped.", STOPPED) if code == STOPPED else int(code or ANSWERED)
    except TyperException as error:
        _traceback()
        return complain(error.format_message() or _help_hint(), USAGE)
    except UserError as error:
        _traceback()
        return complain(str(error), USAGE)
    except RowhopError as error:
        _traceback()
        return complain(str(error), FAULT)
    except (KeyboardInterrupt, Abort):
        return complain("Stopped.", STOPPED)
    except BrokenPipeError:
        # The reader (head, less) has gone. Without this Python complains once more while it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FAULT
    except OSError as error:
        _traceback()
        name = f" ({error.filename})" if error.filename else ""
        return complain(f"The system refused something{name}: {error.strerror or error}.", FAULT)
    except Exception as error:  # noqa: BLE001  the last place: a person gets a sentence, a developer asks for more
        _traceback()
        sentence = f"rowhop failed in a way it should not: {type(error).__name__}: {error}"
        return complain(f"{sentence} Set ROWHOP_DEBUG=1 to see where, and please report it.", FAULT)


def _traceback() -> None:
    if os.environ.get("ROWHOP_DEBUG") == "1":
        import traceback

        traceback.print_exc()


def _help_hint() -> str:
    return "What should rowhop do? See rowhop --help."
