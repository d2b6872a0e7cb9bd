# SPDX-License-Identifier: Apache-2.0
"""Who signs a blob: a device's own symmetric key, or a private key of the product."""

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field

from tcuq._extras import import_extra
from tcuq.errors import ExportError
from tcuq.telemetry import MIN_KEY_BYTES, TAG_BYTES, Keys

SIGNATURE_BYTES = 64


@dataclass(frozen=True, slots=True)
class Signer:
    """A key by its number, and how it signs; `repr` shows no secret."""

    key_number: int
    tag_bytes: int
    sign: Callable[[bytes], bytes] = field(repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.key_number <= 255:
            raise ExportError(f"a key's number must lie in 0..255, got {self.key_number}")


def hmac_signer(key: bytes, *, key_number: int = 0) -> Signer:
    """Return a signer by HMAC-SHA-256 with one device's key of at least 16 secret bytes.

    Examples
    --------
    >>> hmac_signer(bytes(range(32)), key_number=1)
    Signer(key_number=1, tag_bytes=12)
    """
    if len(key) < MIN_KEY_BYTES:
        raise ExportError(f"a blob's key must have at least {MIN_KEY_BYTES} bytes, got {len(key)}")
    return Signer(key_number, TAG_BYTES, lambda body: hmac.digest(key, body, "sha256")[:TAG_BYTES])


def device_signer(master: bytes, device: int, *, key_number: int = 0) -> Signer:
    """Return a signer by the key that is derived from a master for one device's profiles."""
    key = Keys({key_number: master}).profile_key(key_number, device)
    return hmac_signer(key, key_number=key_number)


def private_signer(pem: bytes, *, key_number: int = 0) -> Signer:
    """Return a signer by a private key in PEM, Ed25519 or P-256; needs the extra ``sign``."""
    serialization = import_extra("cryptography.hazmat.primitives.serialization", "sign")
    ed25519 = import_extra("cryptography.hazmat.primitives.asymmetric.ed25519", "sign")
    try:
        private = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError):
        raise ExportError("must hold a private key in PEM, without a password") from None
    if isinstance(private, ed25519.Ed25519PrivateKey):
        return Signer(key_number, SIGNATURE_BYTES, private.sign)
    if getattr(getattr(private, "curve", None), "name", "") == "secp256r1":
        return Signer(key_number, SIGNATURE_BYTES, lambda body: _p256(private, body))
    raise ExportError("must hold an Ed25519 or a P-256 key")


def _p256(private: object, body: bytes) -> bytes:
    """Sign by ECDSA with SHA-256; both numbers as 32 big-endian bytes, as PSA Crypto has them."""
    ec = import_extra("cryptography.hazmat.primitives.asymmetric.ec", "sign")
    hashes = import_extra("cryptography.hazmat.primitives.hashes", "sign")
    utils = import_extra("cryptography.hazmat.primitives.asymmetric.utils", "sign")
    der = private.sign(body, ec.ECDSA(hashes.SHA256()))  # type: ignore[attr-defined] # an optional library's
    r, s = utils.decode_dss_signature(der)
    return bytes(r.to_bytes(32, "big") + s.to_bytes(32, "big"))
