"""The ``wirebench`` command.

One thin file for each command: it reads arguments, calls the pipeline and prints results. To add a
command, write ``wirebench/cli/<file>.py`` with a function::

    def register(app: typer.Typer) -> None:
        app.command("name")(function)

and add the file's name to ``COMMANDS`` of ``wirebench.cli.app``. Every start imports all command
files, so slow packages (NumPy, SciPy, Altair) are imported inside the functions that need them.

Errors: raise ``CatalogError`` for a mistake in the user's input (one line on stderr, exit code 64),
or call ``wirebench.cli.console.fail``. Leave with ``typer.Exit(code)`` for results. SIGTERM and
SIGHUP become KeyboardInterrupt, like Ctrl-C; the exit code is then 128 and the signal's number.
"""
