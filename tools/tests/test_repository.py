# SPDX-License-Identifier: Apache-2.0
"""Files that hosting platforms read, checked against the platforms' published schemas."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCHEMAS = {
    "github-workflows": ".github/workflows/*.yml",
    "dependabot": ".github/dependabot.yml",
    "github-issue-forms": ".github/ISSUE_TEMPLATE/[!c]*.yml",
    "github-issue-config": ".github/ISSUE_TEMPLATE/config.yml",
    "citation-file-format": "CITATION.cff",
    "compose-spec": "fleet/deploy/compose/compose.yaml",
}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_file_follows_its_platforms_schema(schema: str) -> None:
    """`check-jsonschema` with the schema that it carries finds no error."""
    paths = sorted(map(str, ROOT.glob(SCHEMAS[schema])))
    assert paths
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    result = subprocess.run([*command, *paths], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_workflows_are_secure() -> None:
    """`zizmor` finds no action without a hash, no excess of permissions, no injection."""
    command = [str(Path(sys.executable).with_name("zizmor")), "--offline", ".github/workflows"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
