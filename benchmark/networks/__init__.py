# SPDX-License-Identifier: Apache-2.0
"""Small networks: architectures, training that resumes, a zoo of cached weights."""
