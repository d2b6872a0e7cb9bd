# SPDX-License-Identifier: Apache-2.0
"""Known vulnerabilities of the installed packages; fails as well if no package was looked up."""

import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

LISTED = 10  # packages that could not be looked up, named in the output


@dataclass(slots=True)
class Audit:
    """Packages that were looked up, packages that were not, and the vulnerabilities."""

    audited: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    vulnerabilities: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether at least one package was looked up and none has a known vulnerability."""
        return bool(self.audited) and not self.vulnerabilities

    def lines(self) -> list[str]:
        """The result in words."""
        lines = [f"audit: {len(self.audited)} packages looked up, {len(self.skipped)} not"]
        lines += [f"audit: vulnerable: {each}" for each in self.vulnerabilities]
        named = list(self.skipped.items())
        lines += [f"audit: not looked up: {name}: {reason}" for name, reason in named[:LISTED]]
        if len(named) > LISTED:
            lines.append(f"audit: not looked up: {len(named) - LISTED} more")
        if not self.audited:
            lines.append("audit: no package was looked up: the advisory source cannot be reached")
        return lines


def read(report: dict[str, Any]) -> Audit:
    """Read pip-audit's JSON report."""
    audit = Audit()
    for package in report["dependencies"]:
        if "skip_reason" in package:
            audit.skipped[package["name"]] = package["skip_reason"]
            continue
        audit.audited.append(package["name"])
        for each in package["vulns"]:
            fixed = ", ".join(each["fix_versions"]) or "no release"
            audit.vulnerabilities.append(
                f"{package['name']} {package['version']}: {each['id']}, fixed in {fixed}"
            )
    return audit


def main() -> int:
    """Run pip-audit over this environment and print what it found; 1 if that is not good."""
    command = [sys.executable, "-m", "pip_audit", "--skip-editable", "--format", "json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        audit = read(json.loads(result.stdout))
    except ValueError:
        print(f"audit: pip-audit gave no report: {result.stderr.strip()[-300:]}")
        return 1
    print("\n".join(audit.lines()))
    return 0 if audit.passed else 1


if __name__ == "__main__":
    sys.exit(main())
