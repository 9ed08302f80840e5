"""The command line: ``guided demo | run | compile | inspect | check | explain | schema | grammar | vocabulary | warmup``."""

from guided.cli import interrupts

__all__ = ["main"]


def main() -> None:
    """Run the program with the arguments of the process.

    Ctrl-C at any moment ends it with status 130 and one line on stderr; what is imported lazily below is part of that.
    """
    try:
        interrupts.listen()
        from guided.cli.app import run_program

        run_program()
    except KeyboardInterrupt:
        interrupts.report()
    except BaseException:
        # Why: an interrupt inside an import or a callback of C code may come out as any other error, or not at all.
        if not interrupts.was_received():
            raise
        interrupts.report()
    finally:
        interrupts.leave()
