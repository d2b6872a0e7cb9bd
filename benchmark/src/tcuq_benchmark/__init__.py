# SPDX-License-Identifier: Apache-2.0
"""The paper's experiments and further ones; imports only the public interface of tcuq."""
