# SPDX-License-Identifier: Apache-2.0
"""Receivers of alerts, without a server."""

import pytest

from tcuq.errors import InputError
from tcuq_fleet.judge.notify import Receiver


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/s3cret",
        "host:9093",
        "http://",
        "file:///etc/passwd",
        "https://ada:s3cret@host/hook",
        "https://host:s3cret/hook",
        "https://host/hook s3cret",
        "https://host/s3cret\N{BULLET}",
    ],
)
def test_a_receiver_must_be_an_http_url(url: str) -> None:
    """Another URL is refused before judging starts, and no part of it is shown."""
    with pytest.raises(InputError, match="a receiver must be http://host") as refused:
        Receiver(url, lambda *_: None)
    assert "s3cret" not in str(refused.value)
