"""The ``wirebench`` command.

One file for each command, thin: arguments in, calls into the pipeline, words out. To add a command,
write
``wirebench/cli/<file>.py`` with a function::

    def register(app: typer.Typer) -> None:
        app.command("name")(function)

and put the file's name into ``COMMANDS`` of ``wirebench.cli.app``. All command files are imported
at every start, so what is slow to import (NumPy, SciPy, Altair) is imported inside the function
that needs it.

Errors: raise ``CatalogError`` for what the user wrote wrongly (one line on stderr, exit code 64),
or call
``wirebench.cli.console.fail``; leave with ``typer.Exit(code)`` for results. SIGTERM and SIGHUP come
as KeyboardInterrupt, like Ctrl-C; after one the exit code is 130.
"""
