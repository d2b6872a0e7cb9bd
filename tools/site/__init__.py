# SPDX-License-Identifier: Apache-2.0
"""The documentation site: the gallery's pages, and the tree that a site builder reads."""
