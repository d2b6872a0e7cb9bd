# SPDX-License-Identifier: Apache-2.0
"""Export: a profile to C sources that a firmware project takes as they are.

The runtime, the profile as a constant, vectors for a self-test at boot, a minimal program and the
manifest of the build in use. The same profile gives the same bytes.
"""

from tcuq.export.folder import Export, differences, export
from tcuq.export.targets import TARGETS

__all__ = ["TARGETS", "Export", "differences", "export"]
