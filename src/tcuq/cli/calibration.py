# SPDX-License-Identifier: Apache-2.0
"""`fit`, `run` and `evaluate`: streams to a profile, and a profile over streams."""

import argparse
import json
from collections.abc import Iterator

import numpy as np

from tcuq._atomic import written_whole
from tcuq._progress import Progress
from tcuq.cli.printing import Commands, check_output, say
from tcuq.decision import Trace
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.profile.settings import AlarmFlag
from tcuq.recording import load_stream
from tcuq.stages.budget import Outcome

OPTIONS = (
    "alpha", "budget", "burst", "score", "signs", "mix", "mode", "lags", "steps_per_false_alarm", "block_factor",
    "projection", "seed",
)  # fmt: skip


def commands(parsers: Commands) -> Iterator[argparse.ArgumentParser]:
    """The parsers of these commands."""
    fit = parsers.add_parser("fit", help="calibrate a profile from recorded streams")
    fit.add_argument("calibration", help="in-distribution stream, .npz or .parquet")
    fit.add_argument("--development", help="labelled stream with shifts; the tcuq score needs it")
    fit.add_argument("-o", "--output", required=True, help="profile to write, .json")
    fit.add_argument("--preset", choices=("recommended", "paper"), default="recommended")
    _add_options(fit)
    fit.set_defaults(command=_fit)
    yield fit

    run = parsers.add_parser("run", help="run a profile over a recorded stream")
    run.add_argument("profile")
    run.add_argument("stream")
    run.add_argument("-o", "--output", help="every step's decision, .npz")
    run.set_defaults(command=_run)
    yield run

    evaluate = parsers.add_parser("evaluate", help="measure a profile on a labelled stream")
    evaluate.add_argument("profile")
    evaluate.add_argument("stream")
    evaluate.add_argument("--window", type=int, default=100, help="steps of the moving accuracy")
    evaluate.add_argument("--rounds", type=int, default=200, help="bootstrap rounds")
    evaluate.add_argument("--seed", type=int, default=0)
    evaluate.set_defaults(command=_evaluate)
    yield evaluate


def _add_options(fit: argparse.ArgumentParser) -> None:
    fit.add_argument("--alpha", type=float, help="rate of exceedances, default 0.1")
    fit.add_argument("--budget", type=float, help="share of steps that may abstain, default 0.15")
    fit.add_argument("--burst", type=float, help="abstentions beyond the budget, default 16")
    fit.add_argument("--score", choices=("anchored", "tcuq"))
    fit.add_argument("--signs", choices=("free", "monotone"))
    fit.add_argument("--mix", type=float, help="of the tcuq score, default 0.7")
    fit.add_argument("--mode", choices=("guarded", "adaptive"))
    fit.add_argument("--lags", type=lags_of, help="comma-separated, default 1,2,4")
    fit.add_argument("--steps-per-false-alarm", type=int, help="on average, default 1048576")
    fit.add_argument("--block-factor", type=int, choices=(1, 2, 4), help="longer alarm blocks")
    fit.add_argument("--projection", choices=("pca", "lda"), help="of features wider than 32")
    fit.add_argument("--seed", type=int)


def lags_of(text: str) -> tuple[int, ...]:
    """Lags parted by commas."""
    return tuple(int(lag) for lag in text.split(","))


def _fit(asked: argparse.Namespace) -> None:
    from tcuq.calibrate import fit

    check_output(asked.output, ".json")
    calibration = load_stream(asked.calibration)
    development = None if asked.development is None else load_stream(asked.development)
    changes = {n: getattr(asked, n) for n in OPTIONS if getattr(asked, n) is not None}
    profile = fit(calibration, development, preset=asked.preset, **changes)
    profile.save(asked.output)
    say(asked, json.loads(profile.to_json()), f"{profile.summary()}\nwritten to {asked.output}")


def _run(asked: argparse.Namespace) -> None:
    if asked.output is not None:
        check_output(asked.output, ".npz")
    profile, stream = Profile.load(asked.profile), load_stream(asked.stream)
    with Progress("steps", total=len(stream)) as progress:
        trace = Monitor(profile).run(stream, progress=progress.advance)
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
    say(asked, facts, "\n".join(text))


def _evaluate(asked: argparse.Namespace) -> None:
    from tcuq.evaluate import as_json, evaluate, lines

    profile, stream = Profile.load(asked.profile), load_stream(asked.stream)
    found = evaluate(profile, stream, window=asked.window, rounds=asked.rounds, seed=asked.seed)
    say(asked, as_json(found), "\n".join(lines(found)))
