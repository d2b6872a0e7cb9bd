# SPDX-License-Identifier: Apache-2.0
"""The profile: every number a monitor needs, calibrated once, frozen, versioned and hashed.

Its format is profile.schema.json beside this file.
"""

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from tcuq.errors import ProfileError
from tcuq.files import atomic_write
from tcuq.profile.consistency import inconsistencies
from tcuq.profile.quantize import digest
from tcuq.profile.schema import violation
from tcuq.profile.settings import MonitorSettings, Provenance
from tcuq.profile.summary import summary_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMAT = "tcuq.profile/6"
MAX_FILE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, repr=False)
class Profile(MonitorSettings):
    """A calibrated monitor, ready to run, save, load and export.

    Made by ``tcuq.fit`` or ``Profile.load``; its members are read, not set.

    Examples
    --------
    >>> from tcuq.demo import demo_profile
    >>> profile = demo_profile()
    >>> profile == Profile.from_json(profile.to_json())
    True
    """

    provenance: Provenance
    sha256: str = field(init=False, compare=False)
    """Hash of the device's form; its first 8 digits name the profile in telemetry."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sha256", digest(self))

    def __repr__(self) -> str:
        provenance = self.provenance
        channels = "no" if self.alarm is None else len(self.alarm.channels)
        return (
            f"<Profile {self.sha256[:8]}: {self.inputs.what},"
            f" {self.inputs.width or 'no'} features, score {self.score.kind},"
            f" {channels} alarm channels, preset {provenance.preset},"
            f" {provenance.calibration.steps:,} calibration steps>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Profile.from_json, (self.to_json(),)

    def __deepcopy__(self, memo: object) -> "Profile":
        return self  # deeply frozen

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.summary())}</pre>"

    def summary(self) -> str:
        """Return the monitor's inputs, guarantees and origin as text of 100 columns."""
        return "\n".join(summary_lines(self, self.provenance, self.sha256))

    def to_json(self) -> str:
        """Return the profile as a JSON document with its own hash."""
        content = _plain(self)
        head = {"format": FORMAT, "sha256": content.pop("sha256"), "checksum": _hash(content)}
        return json.dumps({**head, **content}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> "Profile":
        """Read a profile from a JSON document, checking all of it."""
        if len(text) > MAX_FILE_BYTES:
            raise ProfileError(f"a profile has at most {MAX_FILE_BYTES:,} bytes")
        document = _parse(text)
        _refuse_other_format(document)
        message = violation(document, profile_schema())
        if message:
            raise ProfileError(message)
        head = ("format", "sha256", "checksum")
        content = {name: value for name, value in document.items() if name not in head}
        if _hash(content) != document["checksum"]:
            raise ProfileError(
                f"checksum must be {_hash(content)} for this content, got {document['checksum']}"
                " (edited by hand? fit again, or save through tcuq)"
            )
        provenance = _built(Provenance, content.pop("provenance"))
        settings = _built(MonitorSettings, content)
        for message in inconsistencies(settings):
            raise ProfileError(message)
        stages = {f.name: getattr(settings, f.name) for f in dataclasses.fields(settings)}
        profile = cls(**stages, provenance=provenance)
        if profile.sha256 != document["sha256"]:
            raise ProfileError(
                f"sha256 must be {profile.sha256} for this content, got {document['sha256']}"
            )
        return profile

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the profile; the file appears whole or not at all."""
        with atomic_write(path) as file:
            file.write(self.to_json().encode())

    def plot(self, *, ax: "Axes | None" = None) -> "Axes":
        """Plot how each term of the score raises the risk; extra `plot`."""
        from tcuq._plots import plot_profile

        return plot_profile(self.to_json(), ax=ax)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Profile":
        """Read a profile from a file, checking all of it."""
        if str(path).endswith((".npz", ".parquet")):
            raise ProfileError(
                f"{path}: a recorded stream, not a profile: fit one first, with"
                f"  tcuq fit {path} -o monitor.json"
            )
        try:
            with Path(path).open("rb") as file:
                return cls.from_json(file.read(MAX_FILE_BYTES + 1))
        except ProfileError as error:
            raise ProfileError(f"{path}: {error}") from None
        except OSError as error:
            raise ProfileError(f"{path}: {error.strerror}") from error
        except ValueError as error:  # an invalid path, such as one with a NUL
            raise ProfileError(f"{str(path)!r}: {error}") from None


@cache
def profile_schema() -> Mapping[str, Any]:
    """Return the JSON Schema of the format, as shipped."""
    text = resources.files("tcuq.profile").joinpath("profile.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return MappingProxyType(schema)


def _plain(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Convert dataclasses to JSON values."""
    if dataclasses.is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _hash(content: Mapping[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _refuse_other_format(document: Any) -> None:  # noqa: ANN401 - any JSON value
    name = document.get("format") if isinstance(document, dict) else None
    if isinstance(name, str) and name != FORMAT and name.startswith("tcuq.profile/"):
        raise ProfileError(
            f"format must be {FORMAT}, got {name[:40]}, of another version of tcuq:"
            " fit again with tcuq fit"
        )


def _parse(text: str | bytes) -> Any:  # noqa: ANN401 - any JSON value
    def refuse_constant(name: str) -> None:
        raise ProfileError(f"numbers must be finite, got {name}")

    def refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for name, value in pairs:
            if name in members:
                raise ProfileError(f"member {name[:60]!r} is repeated")
            members[name] = value
        return members

    try:
        return json.loads(text, parse_constant=refuse_constant, object_pairs_hook=refuse_repeats)
    except ProfileError:
        raise
    except (ValueError, RecursionError) as error:
        raise ProfileError(f"not a JSON document: {str(error)[:200]}") from None


def _built(kind: Any, value: Any) -> Any:  # noqa: ANN401 - a type of the settings, any JSON value
    """Build a value of an annotated type from its checked JSON."""
    kinds: tuple[Any, ...] = get_args(kind) if get_origin(kind) is UnionType else (kind,)
    if isinstance(value, list):
        (item, *_) = next(get_args(one) for one in kinds if get_origin(one) is tuple)
        return tuple(_built(item, member) for member in value)
    if not isinstance(value, dict):
        return value
    for one in kinds:
        if set(value) <= set(getattr(one, "__dataclass_fields__", ())):
            hints = get_type_hints(one)
            return one(**{name: _built(hints[name], member) for name, member in value.items()})
    return MappingProxyType(value)
