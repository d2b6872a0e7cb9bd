# SPDX-License-Identifier: Apache-2.0
import json
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema
import pytest

import tcuq
from tcuq.profile import profile_schema
from tcuq.profile.schema import violation
from tests.fixtures.effort import SHORT

pytestmark = pytest.mark.filterwarnings("ignore::tcuq.errors.CalibrationWarning")

SCHEMA = dict(profile_schema())
LIBRARY = jsonschema.Draft202012Validator(SCHEMA)


@pytest.fixture(scope="module", params=["anchored", "tcuq"])
def small(request: pytest.FixtureRequest, synthetic: Callable[..., tcuq.Stream]) -> tcuq.Profile:
    """Return two small profiles that together use every part of the schema."""
    if request.param == "anchored":
        terms = [tcuq.TermPlan("low_confidence")]
        return tcuq.fit(synthetic(300, width=2), terms=terms)
    streams = synthetic(300, width=33), synthetic(300, width=33, seed=1)
    return tcuq.fit(*streams, preset="paper", projection="lda")


def places(value: object, path: str = "") -> Iterator[str]:
    """Yield the path of every member, and of the first two items of every array."""
    members: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        members = list(value.items())
    elif isinstance(value, list):
        members = list(enumerate(value))[:2]
    for name, member in members:
        here = f"{path}.{name}" if path else str(name)
        if "." not in str(name):  # figures have dots in their names
            yield here
            yield from places(member, here)


def agree(document: object) -> bool:
    """Tell whether our verdict is the library's; our error must be one line."""
    broken = violation(document, SCHEMA)
    assert broken is None or (broken and "\n" not in broken)
    verdict: bool = LIBRARY.is_valid(document)
    return (broken is None) == verdict


def test_sound_profiles_break_no_rule(small: tcuq.Profile) -> None:
    """The schema is valid under draft 2020-12, and both validators accept fitted profiles."""
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    document = json.loads(small.to_json())
    assert violation(document, SCHEMA) is None
    assert LIBRARY.is_valid(document)


@pytest.mark.parametrize(
    "value",
    [..., None, True, "x", "tcuq", -1, 7, 0.5, 1e19, 2**70, [], [0.5], {"kind": 1}],
    ids=repr,
)
def test_agrees_with_the_library(
    small: tcuq.Profile, altered: Callable[..., dict[str, Any]], value: object
) -> None:
    """With any one member removed or replaced, our verdict is the jsonschema library's."""
    paths = list(places(json.loads(small.to_json())))
    assert len(paths) > 50
    removable = [path for path in paths if value is not ... or not path[-1].isdigit()]
    checked = removable[:: 10 if SHORT else 1]
    assert [path for path in checked if not agree(altered(small, path, value))] == []


@pytest.mark.parametrize("path", ["extra", "inputs.extra", "score.extra", "provenance.extra"])
def test_unknown_members_are_refused(
    small: tcuq.Profile, altered: Callable[..., dict[str, Any]], path: str
) -> None:
    """A member the schema does not know is refused by both, with its place."""
    document = altered(small, path, 1)
    assert agree(document)
    *holder, name = path.split(".")
    assert violation(document, SCHEMA) == f"{'.'.join([*holder, repr(name)])} is not a known member"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("provenance.figures", {str(number): 0 for number in range(257)}),
        ("provenance.figures", {"a": "b"}),
        ("provenance.warnings", ["x" * 1001]),
        ("provenance.warnings", ["x"] * 65),
        ("provenance.library", "x" * 65),
        ("provenance.calibration.sha256", "F" * 64),
        ("provenance.calibration.sha256", "0" * 63),
        ("signals.lags", list(range(1, 10))),
    ],
)
def test_bounds_are_the_library_s(
    small: tcuq.Profile, altered: Callable[..., dict[str, Any]], path: str, value: object
) -> None:
    """One beyond a bound of length, number or pattern is refused by both."""
    document = altered(small, path, value)
    assert violation(document, SCHEMA)
    assert not LIBRARY.is_valid(document)


@pytest.mark.parametrize("document", [None, 1, "x", [], [{}], {}])
def test_other_documents_are_refused(document: object) -> None:
    """A document that is no object is refused by both."""
    assert violation(document, SCHEMA)
    assert agree(document)


def test_integers_are_integers_and_messages_are_short(
    small: tcuq.Profile, altered: Callable[..., dict[str, Any]]
) -> None:
    """8.0 is no integer, stricter than the library, for C; a message stays short."""
    document = altered(small, "threshold.step", 8.0)
    assert violation(document, SCHEMA) == "threshold.step must be of type integer, got 8.0"
    assert LIBRARY.is_valid(document)
    for value in ("x" * 10**6, 10**5000, -(10**5000)):
        broken = violation({"format": value}, {"properties": {"format": {"const": "a"}}})
        assert broken is not None
        assert len(broken) < 100
