# SPDX-License-Identifier: Apache-2.0
"""Claims: what an unknown device may claim, and how far a known one may jump."""

from typing import Literal

from pydantic import BaseModel, Field


class Claims(BaseModel, extra="forbid"):
    """Limits of unknown devices, which are options of `fleet ingest`.

    With `authenticated` an unknown device must prove itself, by its certificate or signature; then
    it claims the site of its first record, also a new site. With `sites` it must be a site that
    exists. With `enrolled` only devices in the registry, or stored already, are accepted. With
    `open` nothing is asked: a gateway's records create as many devices as it names.
    A boot further ahead than `boot_jump` is accepted if the device's own certificate or signature
    authenticates it.
    """

    claim: Literal["authenticated", "sites", "enrolled", "open"] = Field(
        default="authenticated",
        description="unknown devices that are accepted: those with a certificate or signature of"
        " their own, the same at existing sites only, enrolled ones, or any",
    )
    sites_per_hour: int = Field(
        default=1_000, ge=0, lt=2**31, description="most sites that devices may create per hour"
    )
    max_sites: int = Field(
        default=100_000, ge=0, lt=2**31, description="most sites that devices may create in all"
    )
    boot_jump: int = Field(
        default=10_000,
        ge=0,
        lt=2**31,
        description="quarantine records whose boot is further ahead than this",
    )


OPEN = Claims(claim="open")
