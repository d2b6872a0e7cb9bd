# SPDX-License-Identifier: Apache-2.0
"""The page on brokers of clouds: its limits are the wire's, its policy the access list."""

import json
import re
from pathlib import Path

import tcuq_fleet
from tcuq_fleet import wire

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/howto/integrations/cloud-brokers.md").read_text("utf-8")
ACCESS = Path(tcuq_fleet.__file__).with_name("broker_acl")
NAME = "${iot:Certificate.Subject.CommonName}"
LARGEST_RECORD = 106
AWS_TOPIC_BYTES, AWS_SLASHES = 256, 7


def test_topics_fit_the_limits_that_the_page_states() -> None:
    """The longest topic, its slashes and the largest message are the wire's."""
    longest = wire.records_topic("s" * 32, "g" * 32)
    assert f"at most {len(longest)} bytes, {longest.count('/')} slashes" in PAGE
    assert f"{wire.MAX_RECORDS * LARGEST_RECORD:,} bytes, 1,000 records" in PAGE
    for topic in (longest, *wire.shared_filters()):
        assert len(topic) <= AWS_TOPIC_BYTES
        assert topic.count("/") <= AWS_SLASHES
    assert all(topic.startswith("$share/ingest/") for topic in wire.shared_filters())


def test_the_policy_is_the_access_list() -> None:
    """It lets a device publish and receive what the list of Mosquitto lets it, and no more."""
    (block,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    allowed: dict[str, set[str]] = {}
    for statement in json.loads(block)["Statement"]:
        assert statement["Effect"] == "Allow"
        resources = statement["Resource"]
        for resource in [resources] if isinstance(resources, str) else resources:
            topic = resource.partition("/")[2].replace(NAME, "%u")
            allowed.setdefault(statement["Action"], set()).add(topic.replace("*", "+"))
    patterns = re.findall(
        r"^pattern (read|write) devices/(\S+)$", ACCESS.read_text("utf-8"), re.MULTILINE
    )
    assert allowed.pop("iot:Connect") == {"%u"}
    assert allowed.pop("iot:Publish") == {topic for way, topic in patterns if way == "write"}
    readable = {topic for way, topic in patterns if way == "read"}
    assert allowed == {"iot:Subscribe": readable, "iot:Receive": readable}
