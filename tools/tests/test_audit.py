# SPDX-License-Identifier: Apache-2.0
from tools.audit import read


def test_an_audit_that_looked_up_nothing_passed() -> None:
    """Without any package looked up, the audit fails and says why."""
    reason = "Dependency not found on PyPI and could not be audited"
    audit = read({"dependencies": [{"name": "numpy", "skip_reason": reason}]})
    assert not audit.passed
    assert audit.lines()[0] == "audit: 0 packages looked up, 1 not"
    assert "cannot be reached" in audit.lines()[-1]
    assert not read({"dependencies": []}).passed


def test_a_vulnerable_package_fails_the_audit() -> None:
    """A known vulnerability is named with the release that fixes it."""
    vulnerability = {"id": "PYSEC-1", "fix_versions": ["2.1"]}
    clean = {"name": "numpy", "version": "2.0", "vulns": []}
    bad = {"name": "jinja2", "version": "2.0", "vulns": [vulnerability]}
    assert read({"dependencies": [clean]}).passed
    audit = read({"dependencies": [clean, bad]})
    assert not audit.passed
    assert "audit: vulnerable: jinja2 2.0: PYSEC-1, fixed in 2.1" in audit.lines()
