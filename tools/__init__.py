# SPDX-License-Identifier: Apache-2.0
"""Scripts that measure, emulate, fuzz and prove the library; run from the root by `python -m`."""
