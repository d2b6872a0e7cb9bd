# SPDX-License-Identifier: Apache-2.0
"""Receivers of alerts, without a server."""

import pytest

from tcuq.errors import InputError
from tcuq_fleet.judge.notify import Receiver


@pytest.mark.parametrize("url", ["ftp://host", "host:9093", "http://", "file:///etc/passwd"])
def test_a_receiver_must_be_an_http_url(url: str) -> None:
    """Another URL is refused before judging starts."""
    with pytest.raises(InputError, match="a receiver must be http://host"):
        Receiver(url, lambda *_: None)
