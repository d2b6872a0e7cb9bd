# SPDX-License-Identifier: Apache-2.0
"""The paper's experiments and ours past them; imports only the public interface of tcuq."""
