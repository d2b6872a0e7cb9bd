# SPDX-License-Identifier: Apache-2.0
"""The C runtime as one package for the registries of firmware engineers."""
