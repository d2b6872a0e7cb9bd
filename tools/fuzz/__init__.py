# SPDX-License-Identifier: Apache-2.0
"""Checks of the C sources: compiler warnings, cppcheck with MISRA C:2012, and a fuzzer."""
