"""The command line: ``guided demo | run | compile | inspect | check | explain | explore | schema | grammar | vocabulary | warmup``.

In: arguments, files, standard input. Out: text or, with ``--json``, data on standard output, errors on stderr, and an exit code.

Invariants: one module per command, which imports the engine only when the command runs; Ctrl-C ends every command with status 130.

Reading order: `app` (the commands), `boundary` (errors and exit codes), `specs` (options that name a constraint), `sources` (files of
them), then one command, such as `check`.

Public modules: none.
"""

from guided.cli import interrupts

__all__ = ["main"]


def main() -> None:
    """Run the program with the arguments of the process.

    Ctrl-C at any time ends it with status 130 and one line on stderr, also during the lazy imports below.
    """
    try:
        interrupts.listen()
        try:
            from guided.cli.app import run_program
        except ModuleNotFoundError as error:
            raise SystemExit(f"guided: {error.name} is not installed: run pip install {error.name}") from error
        run_program()
    except KeyboardInterrupt:
        interrupts.report()
    except BaseException:
        # Why: an interrupt inside an import or a callback from C may surface as any other error, or not at all.
        if not interrupts.was_received():
            raise
        interrupts.report()
    finally:
        interrupts.leave()
