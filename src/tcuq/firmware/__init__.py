# SPDX-License-Identifier: Apache-2.0
"""Export: write a profile as C sources that a firmware project can use unchanged.

An export holds the runtime, the profile as a constant, a self-test for boot, a minimal program and
the manifest of one build system. The same profile gives the same bytes.
"""

from tcuq.firmware.blob import device_blobs, profile_blob
from tcuq.firmware.folder import Export, differences, export
from tcuq.firmware.signing import Signer, device_signer, hmac_signer, private_signer
from tcuq.firmware.targets import TARGETS

__all__ = [
    "TARGETS",
    "Export",
    "Signer",
    "device_blobs",
    "device_signer",
    "differences",
    "export",
    "hmac_signer",
    "private_signer",
    "profile_blob",
]
