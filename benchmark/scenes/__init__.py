# SPDX-License-Identifier: Apache-2.0
"""The streams of each task: what a score is fitted on, and what it is judged on."""
