# SPDX-License-Identifier: Apache-2.0
"""Make the streams of `tcuq demo` from recorded speech; see __main__.py."""
