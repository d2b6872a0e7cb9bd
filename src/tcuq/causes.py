# SPDX-License-Identifier: Apache-2.0
"""What an alarm means to a technician: one sentence, from its cause, its change and the label."""

# A change in bits that is hardly one, and one that leaves almost nothing.
LITTLE, NOTHING = 0.3, -6.0
SHARES = {2: "half", 3: "a third", 4: "a quarter", 5: "a fifth", 8: "an eighth", 10: "a tenth"}
HEALTH = "input health"
SINCE_BOOT = " since boot"
NO_LABEL = 255  # of a record
# Of a statistic that is a logarithm: what a sensor is when it rises, and when it falls.
KINDS = {
    "level": ("", ""),
    "roughness": (" is noisier", " is smoother"),
    "spread": (" varies more", " varies less"),
}


def meaning(cause: str, change: float, label: int) -> str:
    """Return an alarm in one sentence; "" without a cause.

    Parameters
    ----------
    cause
        The channel in words, of input health with the statistic's name.
    change
        In bits; of a statistic that is no logarithm, in its own unit.
    label
        The predicted class; 255 if it is not known.

    Examples
    --------
    >>> meaning("input health: accelerometer level", -2.0, 3)
    'The accelerometer level fell to a quarter.'
    >>> meaning("divergence", -7.5, 3)
    'Outputs hardly change any more: stuck at class 3.'
    >>> meaning("novelty, input health: microphone repeats since boot", 0.875, 3)
    'The microphone is frozen: its samples repeat.'
    """
    if not cause:
        return ""
    channel, health, statistic = cause.removesuffix(SINCE_BOOT).partition(f"{HEALTH}: ")
    return _of_health(statistic, change) if health else _of_channel(channel, change, label)


def _of_health(statistic: str, change: float) -> str:
    if change == 0:
        return f"The {statistic}: not as in calibration."
    sensor, _, kind = statistic.rpartition(" ")
    if not sensor or kind not in {*KINDS, "repeats"}:
        return f"The {statistic} {'rose' if change > 0 else 'fell'} by {abs(change):.2g}."
    if kind == "repeats":
        more = f"The {sensor} is frozen: its samples repeat."
        return more if change > 0 else f"The {sensor}'s samples repeat less than they did."
    if kind != "level" and change <= NOTHING:
        return f"The {sensor} is dead or stuck: its {kind} fell to almost nothing."
    state = KINDS[kind][0 if change > 0 else 1]
    subject = f"The {sensor}{state}: its {kind}" if state else f"The {sensor} {kind}"
    return f"{subject} {_moved(change)}."


def _of_channel(channel: str, change: float, label: int) -> str:
    if channel in {"divergence", "instability"}:
        what = "Outputs" if channel == "divergence" else "Features"
        if abs(change) < LITTLE:
            return f"{what} change otherwise from step to step than in calibration."
        if change > -2:
            return f"{what} change {_times(change)} as much from step to step."
        stuck = "" if label == NO_LABEL else f": stuck at class {label}"
        return f"{what} hardly change any more{stuck}."
    if channel == "risk":
        return "The risk of an error is beyond the highest of calibration."
    return "Inputs are unlike those of calibration."


def _moved(bits: float) -> str:
    if abs(bits) < LITTLE:
        return "rose a little" if bits > 0 else "fell a little"
    if bits > 0:
        return f"rose to {_times(bits)}"
    return f"fell to {_share(-bits)}"


def _times(bits: float) -> str:
    factor = 2.0**bits
    if factor < 1:
        return _share(-bits)
    if factor >= 100:
        return "more than 100 times"
    return f"{factor:.0f} times" if factor >= 3 else f"{factor:.2g} times"


def _share(bits: float) -> str:
    if -bits <= NOTHING:
        return "almost nothing"
    part = min(SHARES, key=lambda share: abs(2.0**bits / share - 1))
    return SHARES[part] if abs(2.0**bits / part - 1) < 0.2 else f"{2.0**-bits:.0%}"
