# SPDX-License-Identifier: Apache-2.0
"""The stages of a monitor in float: the readable reference that the C runtime is tested against."""
