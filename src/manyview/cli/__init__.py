"""The command line: ``manyview COMMAND``.

Exit codes: 0 all went well; 2 bad usage or bad input, with one message on
standard error; 130 stopped by Ctrl-C; 1 anything else. A group of commands is one
file; `app` lists them.
"""

import sys
import warnings
from collections.abc import Sequence
from typing import Any, cast

from manyview.cli import terminal
from manyview.errors import ManyviewError, ManyviewWarning


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    terminal.start()
    with warnings.catch_warnings():
        warnings.simplefilter("always", ManyviewWarning)
        warnings.showwarning = terminal.show_warning
        try:
            return _run(args or ["--help"])
        except ManyviewError as error:
            terminal.note(f"Error: {error}")
            return 2
        except MemoryError:
            terminal.note(
                "Error: There was not enough memory. Give fewer rows or anchors, or "
                "use a larger machine."
            )
            return 1
        except KeyboardInterrupt:
            terminal.say_interrupted()
            return 130


def _run(args: list[str]) -> int:
    import typer

    from manyview.cli.app import app

    # typer brings click along under changing names; its public error leads to it.
    click_error = cast(type[Exception], typer.BadParameter.__mro__[2])
    command = typer.main.get_command(app)
    try:
        code = command.main(args, prog_name="manyview", standalone_mode=False)
    except click_error as error:
        text, context = cast(Any, error).format_message(), getattr(error, "ctx", None)
        where = "manyview" if context is None else context.command_path
        text = text.strip()
        end = "" if text.endswith((".", "?")) else "."
        terminal.note(f"Error: {text}{end} See {where} --help.")
        return 2
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    if code == 130:
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0
