# SPDX-License-Identifier: Apache-2.0
"""Change: how far a device's last epoch lies from its own past, among the changes of its peers.

Two statistics: the Mahalanobis distance of the change of the record's five means, under the robust
centre and covariance of the peers' changes, and the rise of the epoch's evidence above its past.
Each has the p-value of its rank among calm peers' in earlier epochs (conformal; Bates and others,
2023); a device's is twice the smaller one. Nothing is assumed of a change's distribution, only that
a healthy device is exchangeable with calm peers. What happens to all peers at once cancels.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tcuq.telemetry import MEANS

Array = NDArray[Any]

UNITS = np.array([*MEANS.values()], float)
NAMES = (*MEANS, "evidence")  # evidence above 0, in half bits
MIN_PAST = 3  # epochs; a device with fewer is never changed
MEMORY = 30  # epochs after which the past forgets exponentially
MIN_PEERS = 100  # devices whose changes a covariance needs
MIN_REFERENCE = 300  # calm scores that ranks need
FREEDOM = 3.0  # degrees, of the t distribution that is fitted to peers' changes
# A change this small is never far, however calm the peers: shares of steps, and bits.
FLOOR = np.array([0.001, 0.01, 0.01, 0.01, 0.001])
BUCKETS_PER_BIT = 64  # of 1 + distance: 1.1 % wide
BUCKETS = 1024
FIT_BUCKETS = 8  # 9 %: by how much distances under two fits of the same peers differ
MAX_ITERATIONS, TOLERANCE = 50, 1e-3
NOT_SCORED = -1
EVIDENCE_ROSE = len(NAMES)


@dataclass(frozen=True, eq=False)
class Peers:
    """The robust centre of peers' changes, and the matrix that makes their covariance one."""

    centre: Array
    whitening: Array
    spread: Array  # of each mean alone

    @classmethod
    def fit(cls, changes: Array) -> Self:
        """Fit a multivariate t distribution of few degrees of freedom, from the medians on.

        Its weights fall smoothly, so up to a tenth of odd peers hardly matter. The minimum
        covariance determinant leaves out whole clusters, such as one person's devices: which ones
        jumps from epoch to epoch, and then half of healthy fleets had a false discovery.
        """
        centre = np.median(changes, axis=0)
        spread = np.hypot(1.4826 * np.median(np.abs(changes - centre), axis=0), FLOOR)
        peers = cls(centre, np.diag(1 / spread), spread)
        for _ in range(MAX_ITERATIONS):
            weights = (FREEDOM + len(UNITS)) / (FREEDOM + peers.distances(changes) ** 2)
            centre = weights @ changes / weights.sum()
            around = changes - centre
            covariance = (weights[:, None] * around).T @ around / len(changes) + np.diag(FLOOR**2)
            whitening = np.linalg.inv(np.linalg.cholesky(covariance))
            still = np.allclose(whitening, peers.whitening, rtol=TOLERANCE)
            peers = cls(centre, whitening, np.sqrt(np.diag(covariance)))
            if still:
                break
        return peers

    def distances(self, changes: Array) -> Array:
        """Return the Mahalanobis distances of changes."""
        return np.asarray(np.linalg.norm((changes - self.centre) @ self.whitening.T, axis=1))

    def moved(self, changes: Array) -> Array:
        """Return which mean moved most, from 1; below 0 if it fell."""
        steps = (changes - self.centre) / self.spread
        most = np.argmax(np.abs(steps), axis=1)
        sign = np.sign(steps[np.arange(len(steps)), most])
        return np.asarray((most + 1) * np.where(sign < 0, -1, 1), np.int16)


def change(last: Array, past: Array, past_epochs: Array) -> Array:
    """Return the changes of the means, in shares and bits, from values in the record's units.

    The factor makes changes after few past epochs as wide as changes after many.
    """
    factor = np.sqrt(past_epochs / (past_epochs + 1))[:, None]
    changes: Array = (last[:, :-1] - past[:, :-1]) / UNITS * factor
    return changes


def fold(last: Array, past: Array, past_epochs: Array) -> tuple[Array, Array]:
    """Return the past with one more epoch, and its number of epochs."""
    weight = 1 / (np.minimum(past_epochs, MEMORY - 1) + 1)
    counted = np.minimum(past_epochs + 1, np.iinfo(np.int16).max)
    return past + (last - past) * weight[:, None], counted


def distance_buckets(distances: Array) -> Array:
    """Return the bucket of each distance."""
    place = np.floor(BUCKETS_PER_BIT * np.log2(1 + distances))
    return np.asarray(np.minimum(place, BUCKETS - 1), np.int16)


def rise_buckets(evidence: Array, past_evidence: Array) -> Array:
    """Return the bucket of each rise of the evidence in half bits; a fall is 0."""
    rise = np.floor(np.maximum(evidence, 0) - past_evidence)
    return np.asarray(np.clip(rise, 0, BUCKETS - 1), np.int16)


def rank_bits_q8(reference: Array) -> Array:
    """Return -256 log2 of the p-value of each bucket, rounded down.

    `reference` has the number of calm scores per bucket; the tested score counts as one of them.

    Examples
    --------
    >>> rank_bits_q8(np.array([10, 4, 1])).tolist()
    [0, 362, 768]
    """
    at_least = np.cumsum(reference[::-1])[::-1]
    bits_q8 = 256 * np.log2((1 + at_least[0]) / (1 + at_least))
    return np.asarray(np.floor(bits_q8 + 1e-6), np.int64)


def bits_of_buckets_q8(references: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return -256 log2 of the p-value of each bucket of both statistics, one of two tests.

    A distance is ranked as if it were nearer by what the fit of peers leaves open: it moves all
    distances of an epoch together, and many devices alike, such as one person's, would pass the
    farthest calm ones at once.
    """
    distances, rises = (rank_bits_q8(reference) - 256 for reference in references)
    return np.concatenate([np.full(FIT_BUCKETS, -256), distances[:-FIT_BUCKETS]]), rises


def change_bits_q8(distance: Array, rise: Array, references: tuple[Array, Array]) -> Array:
    """Return -256 log2 of devices' p-values, from the buckets of both statistics; at least 0.

    With these as evidence, e-BH is the procedure of Benjamini and Hochberg on the p-values.
    """
    distances, rises = bits_of_buckets_q8(references)
    return np.asarray(np.maximum(np.maximum(distances[distance], rises[rise]), 0))
