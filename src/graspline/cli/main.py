"""`graspline`: commands, and what every error becomes."""

from __future__ import annotations

import sys
import traceback

import typer

from graspline.cli import bench, demo, inspect, run
from graspline.errors import GrasplineError
from graspline.version import VERSION

app = typer.Typer(
    name="graspline",
    help="Robot pick-and-place in simulation that is verified, recovers, and turns into training data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 below --require-success, 2 bad usage or configuration, 3 something this machine "
    "lacks, 4 dataset inconsistent, 5 our bug, 130 interrupted.",
)
app.command("demo")(demo.demo)
app.command("tasks")(inspect.tasks)
app.command("config")(inspect.config)
app.command("diagram")(inspect.diagram)
app.command("region")(inspect.region)
app.command("run")(run.run)
app.command("bench")(bench.bench)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"graspline {VERSION}")
        raise typer.Exit()


@app.callback()
def _main(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


def entry() -> None:
    """Run the command line; one clear message and the documented exit code, never a traceback, unless it is our bug."""
    try:
        app()
    except GrasplineError as error:
        _complain(str(error), error.exit_code)
    except KeyboardInterrupt:
        _complain("interrupted", 130)
    except BrokenPipeError:
        # Somebody closed our standard output, as `head` does.
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        _complain(f"{error.filename or 'this machine'}: {error.strerror or error}", 3)
    except Exception:
        traceback.print_exc()
        _complain("this is a bug in graspline; please report it with the lines above", 5)


def _complain(message: str, code: int) -> None:
    for line in message.splitlines():
        print(f"graspline: {line}", file=sys.stderr)
    sys.exit(code)
