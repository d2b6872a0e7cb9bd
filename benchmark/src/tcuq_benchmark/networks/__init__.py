# SPDX-License-Identifier: Apache-2.0
"""Small networks: architectures, resumable training, a zoo of cached weights."""
