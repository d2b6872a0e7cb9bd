# SPDX-License-Identifier: Apache-2.0
"""The wire between devices and the store: what an acknowledgement says."""

import numpy as np

# "The state of this boot is stored through this sequence."
ACK = np.dtype([("device", "<u8"), ("boot", "<u4"), ("sequence", "<u4")])
