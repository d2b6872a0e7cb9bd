# SPDX-License-Identifier: Apache-2.0
"""The profile: a calibrated monitor as data, its checks, its file and its integers."""

from tcuq.profile.profile import FORMAT, MAX_FILE_BYTES, Profile, profile_schema

__all__ = ["FORMAT", "MAX_FILE_BYTES", "Profile", "profile_schema"]
