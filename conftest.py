# SPDX-License-Identifier: Apache-2.0
"""Fixtures that the tests of all products share; what they import is imported on first use."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    import tcuq


@pytest.fixture(scope="session")
def profile() -> "tcuq.Profile":
    """Return the recommended profile of the bundled streams."""
    from tcuq.demo import demo_profile

    return demo_profile()


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """Start Debian's Chromium, headless; its driver allows one per process."""
    from tests.fixtures.browser import chromium

    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def axe() -> str:
    """Return the source of the accessibility checker."""
    from tests.fixtures.browser import axe_script

    return axe_script()
