"""Every command of `graspline` by name."""

from __future__ import annotations

import typer

from graspline.cli import (
    arms,
    audit,
    bench,
    campaign,
    compare,
    demo,
    doctor,
    edit,
    evaluate,
    export,
    generate,
    inspect,
    rates,
    replay,
    report,
    run,
    serve,
)
from graspline.version import VERSION

app = typer.Typer(
    name="graspline",
    help="Robot pick-and-place in simulation that is verified, recovers, and turns into training data.\n\n"
    "\b\nStart with:\n  graspline demo\n  graspline run lift-cube --episodes 20",
    add_completion=False,
    pretty_exceptions_enable=False,
    # Boxes cut option names off in a narrow terminal and examples in two.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 below --require-success, 2 bad usage or configuration, 3 something this machine "
    "lacks, 4 dataset inconsistent, 5 our bug, 130 interrupted.",
)
app.command("demo")(demo.demo)
app.command("tasks")(inspect.tasks)
app.command("config")(inspect.config)
app.command("diagram")(inspect.diagram)
app.command("region")(inspect.region)
app.command("workspace")(arms.workspace)
app.command("jaw")(arms.jaw)
app.command("run")(run.run)
app.command("serve")(serve.serve)
app.command("generate")(generate.command)
app.command("eval")(evaluate.evaluate)
app.command("compare")(compare.command)
app.command("report")(report.report)
app.command("compact")(edit.compact)
app.command("merge")(edit.merge)
app.command("delete")(edit.delete)
app.command("export")(export.export)
app.command("replay")(replay.command)
app.command("doctor")(doctor.command)
app.command("campaign")(campaign.campaign)
app.command("audit")(audit.audit)
app.command("rates")(rates.rates)
app.command("bench")(bench.bench)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"graspline {VERSION}")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def _main(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
