# SPDX-License-Identifier: Apache-2.0
"""The command line: parsing and printing only.

Exit codes: 0 done; 1 an input, profile or stream breaks a rule; 2 the command line itself is wrong;
3 an optional library is missing; 130 interrupted (no file is left half written).
"""

import argparse
import dataclasses
import json
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tcuq.atomic import written_whole
from tcuq.budget import Outcome
from tcuq.decision import Trace
from tcuq.errors import CalibrationWarning, MissingExtraError, TcuqError
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.progress import Progress
from tcuq.recording import load_stream
from tcuq.settings import AlarmFlag
from tcuq.summary import summary
from tcuq.version import __version__

if TYPE_CHECKING:
    from tcuq.demo import Demonstration


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    parsed = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", CalibrationWarning)
            parsed.command(parsed)
        sys.stdout.flush()  # here, where a closed pipe is expected, not at exit
        for warning in caught:
            if not issubclass(warning.category, CalibrationWarning):
                print(f"tcuq: {warning.message}", file=sys.stderr)
    except MissingExtraError as error:
        print(f"tcuq: {error}", file=sys.stderr)
        return 3
    except TcuqError as error:
        print(f"tcuq: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # who reads has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"tcuq: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("tcuq: interrupted; nothing was left half written", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tcuq",
        description="Tells when a tiny model should not be trusted.",
        epilog="exit codes: 0 done, 1 bad input, 2 bad usage, 3 missing library, 130 interrupted",
    )
    parser.add_argument("--version", action="version", version=f"tcuq {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="see the monitor at work on a recorded stream")
    demo.set_defaults(command=_demo)

    fit = commands.add_parser("fit", help="calibrate a profile from recorded streams")
    fit.add_argument("calibration", help="in-distribution stream, .npz or .parquet")
    fit.add_argument("--development", help="labelled stream with shifts; the tcuq score needs it")
    fit.add_argument("-o", "--output", required=True, help="profile to write, .json")
    fit.add_argument("--preset", choices=("recommended", "paper"), default="recommended")
    _add_options(fit)
    fit.set_defaults(command=_fit)

    run = commands.add_parser("run", help="run a profile over a recorded stream")
    run.add_argument("profile")
    run.add_argument("stream")
    run.add_argument("-o", "--output", help="every step's decision, .npz")
    run.set_defaults(command=_run)

    evaluate = commands.add_parser("evaluate", help="measure a profile on a labelled stream")
    evaluate.add_argument("profile")
    evaluate.add_argument("stream")
    evaluate.add_argument("--window", type=int, default=100, help="steps of the moving accuracy")
    evaluate.add_argument("--rounds", type=int, default=200, help="bootstrap rounds")
    evaluate.add_argument("--seed", type=int, default=0)
    evaluate.set_defaults(command=_evaluate)

    inspect = commands.add_parser("inspect", help="say what a profile or a stream holds")
    inspect.add_argument("file")
    inspect.set_defaults(command=_inspect)

    for command in (demo, fit, run, evaluate, inspect):
        command.add_argument("--json", action="store_true", help="print JSON instead of text")
    return parser


def _add_options(fit: argparse.ArgumentParser) -> None:
    fit.add_argument("--alpha", type=float, help="rate of exceedances, default 0.1")
    fit.add_argument("--budget", type=float, help="share of steps that may abstain, default 0.15")
    fit.add_argument("--burst", type=float, help="abstentions beyond the budget, default 16")
    fit.add_argument("--score", choices=("anchored", "tcuq"))
    fit.add_argument("--signs", choices=("free", "monotone"))
    fit.add_argument("--mode", choices=("guarded", "adaptive"))
    fit.add_argument("--lags", type=_lags, help="comma-separated, default 1,2,4")
    fit.add_argument("--h", type=int, help="one false alarm in 2^h steps, default 20")
    fit.add_argument("--caution", type=int, choices=(1, 2, 4), help="longer alarm blocks")
    fit.add_argument("--projection", choices=("pca", "lda"), help="of features wider than 32")
    fit.add_argument("--seed", type=int)


OPTIONS = (
    "alpha", "budget", "burst", "score", "signs", "mode", "lags", "h", "caution", "projection",
    "seed",
)  # fmt: skip


def _lags(text: str) -> tuple[int, ...]:
    return tuple(int(lag) for lag in text.split(","))


def _check_output(path: str, ending: str) -> None:
    """Before the work, not after it."""
    if Path(path).suffix != ending:
        raise TcuqError(f"{path!r}: the output's name must end in {ending}")
    if Path(path).is_dir():
        raise TcuqError(f"{path}: is a folder")
    if not Path(path).parent.is_dir():
        raise TcuqError(f"{path}: there is no folder {Path(path).parent}")


def _fit(asked: argparse.Namespace) -> None:
    from tcuq.calibrate import fit

    _check_output(asked.output, ".json")
    calibration = load_stream(asked.calibration)
    development = None if asked.development is None else load_stream(asked.development)
    changes = {n: getattr(asked, n) for n in OPTIONS if getattr(asked, n) is not None}
    profile = fit(calibration, development, preset=asked.preset, verbose=False, **changes)
    profile.save(asked.output)
    _say(asked, _profile_as_json(profile), f"{summary(profile)}\nwritten to {asked.output}")


def _run(asked: argparse.Namespace) -> None:
    if asked.output is not None:
        _check_output(asked.output, ".npz")
    profile, stream = Profile.load(asked.profile), load_stream(asked.stream)
    with Progress("steps", total=len(stream)) as progress:
        trace = Monitor(profile).run_stream(stream, progress=progress.advance)
    if asked.output is not None:
        with written_whole(asked.output) as file:
            np.savez_compressed(file, **{n: getattr(trace, n) for n in Trace.__slots__})
    alarms = {
        flag.name or "": np.flatnonzero(trace.alarm & flag.value).tolist() for flag in AlarmFlag
    }
    counts = {outcome.name: int((trace.outcome == outcome).sum()) for outcome in Outcome}
    facts = {
        "steps": len(trace),
        "outcomes": counts,
        "exceeded": int(trace.exceeded.sum()),
        "mean_risk": float(trace.risk.mean()),
        "alarms": alarms,
    }
    text = [f"{len(trace):,} steps, mean risk {trace.risk.mean():.4f}"]
    text += [f"{name:<8} {n:>10,}  {n / len(trace):7.2%}" for name, n in counts.items()]
    text += [
        f"alarm    {name.lower()} at step {', '.join(map(str, steps[:8]))}"
        + (f" and {len(steps) - 8} more" if len(steps) > 8 else "")
        for name, steps in alarms.items()
        if steps
    ] or ["no alarm"]
    _say(asked, facts, "\n".join(text))


def _evaluate(asked: argparse.Namespace) -> None:
    from tcuq.evaluate import as_json, evaluate, lines

    profile, stream = Profile.load(asked.profile), load_stream(asked.stream)
    found = evaluate(profile, stream, window=asked.window, rounds=asked.rounds, seed=asked.seed)
    _say(asked, as_json(found), "\n".join(lines(found)))


def _inspect(asked: argparse.Namespace) -> None:
    if Path(asked.file).suffix == ".json":
        profile = Profile.load(asked.file)
        _say(asked, _profile_as_json(profile), summary(profile))
        return
    stream = load_stream(asked.file)
    facts = {
        "steps": len(stream),
        "recordings": len(stream.starts),
        "kind": stream.kind,
        "classes": stream.classes,
        "features": stream.width,
        "distinct": stream.distinct,
        "labelled": 0 if stream.labels is None else int((stream.labels >= 0).sum()),
        "shifted": None if stream.shifted is None else int(stream.shifted.sum()),
        "sha256": stream.sha256,
    }
    _say(asked, facts, "\n".join(f"{name:<10} {value}" for name, value in facts.items()))


def _demo(asked: argparse.Namespace) -> None:
    from tcuq import demo

    shown = demo.demonstrate()
    facts = {
        "profile": shown.profile.sha256,
        "false_alarms": int((shown.test.alarm > 0).sum()),
        "faults": [dataclasses.asdict(effect) for effect in shown.effects],
    }
    _say(asked, facts, "\n".join(_demo_lines(shown)))


def _demo_lines(shown: "Demonstration") -> list[str]:
    from tcuq.demo import DRAWN, FAULTS, demo_stream, picture

    test, false_alarms = shown.test, int((shown.test.alarm > 0).sum())
    asked = (test.outcome != Outcome.ACCEPT).mean()
    text = [
        "A small network reads activities from a phone at the waist; a step is 1.28 s.",
        "The monitor was calibrated, without labels, on ten people the network never saw:",
        "",
        summary(shown.profile),
        "",
        f"Five others: it asks at {asked:.1%} of {len(test):,} steps, {false_alarms} false alarms.",
        "The same people while a sensor fails, from the step it starts:",
        "",
        "fault         accuracy           asks to abstain     error of       alarm",
        "              clean → faulty     clean → faulty      accepted       came     after",
    ]
    for e in shown.effects:
        after = "" if e.median_delay_steps is None else f"{e.median_delay_steps:,.0f} steps"
        text.append(
            f"{e.fault:<10}{e.accuracy_clean:>9.0%} → {e.accuracy:<11.0%}"
            f"{e.asked_clean:>6.0%} → {e.asked:<11.0%}{e.error_accepted:>5.0%}"
            f"{e.caught:>12} of {e.onsets}   {after}"
        )
    fault, span = DRAWN
    stream, trace = demo_stream(f"fault_{fault}"), shown.traces[FAULTS.index(fault)]
    text += ["", f"Fault {fault!r}, steps {span.start} to {span.stop}:"]
    return text + picture(stream, trace, span)


def _profile_as_json(profile: Profile) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(profile.to_json())
    return document


def _say(asked: argparse.Namespace, facts: dict[str, Any], text: str) -> None:
    print(json.dumps(facts, allow_nan=False) if asked.json else text)


if __name__ == "__main__":
    sys.exit(main())
