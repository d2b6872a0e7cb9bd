# SPDX-License-Identifier: Apache-2.0
"""The ready verifiers accept what published vectors and `tcuq export` sign, and nothing else."""

import ctypes
import hmac
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

import tcuq
from tcuq.errors import ExportError
from tcuq.firmware import device_blobs, hmac_signer, private_signer, profile_blob
from tcuq.firmware.blob import LABEL_END
from tcuq.telemetry import Keys
from tests.fixtures.firmware.toolchain import HERE, OTA, UPLINK, run

TRUE, FALSE, BUSY = 0, 1, 2
LIBRARIES = {
    "SODIUM": ("-lsodium",), "MONOCYPHER_API": ("-lsodium",), "PSA": ("-lmbedcrypto",),
}  # fmt: skip
# RFC 8032, section 7.1, tests 1 to 3: public key, message, signature.
ED25519 = [
    ("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     ("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
     "d25bf5f0595bbe24655141438e7a100b")),
    ("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     ("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
     "387b2eaeb4302aeeb00d291612bb0c00")),
    ("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     ("6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
     "4a7c15e9716ed28dc027beceea1ec40a")),
]  # fmt: skip
# RFC 6979, appendix A.2.5, SHA-256 of "sample": the public point, then r and s.
P256 = (
    (
        "0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"
        "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299"
    ),
    b"sample".hex(),
    (
        "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
        "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
    ),
)
# RFC 4231, test cases 1 and 2: key, data, the first 12 bytes of the HMAC.
HMAC = [
    ("0b" * 20, b"Hi There".hex(), "b0344c61d8db38535ca8afce"),
    (b"Jefe".hex(), b"what do ya want for nothing?".hex(), "5bdcc146bf60754e6a042426"),
]
VECTORS = {"SODIUM": ED25519, "MONOCYPHER_API": ED25519, "PSA": [P256, *HMAC]}
Verify = Callable[..., int]


@pytest.fixture(scope="module", params=sorted(LIBRARIES))
def library(request: pytest.FixtureRequest) -> str:
    """Return each library in turn."""
    return str(request.param)


@pytest.fixture(scope="module")
def verify(library: str, tmp_path_factory: pytest.TempPathFactory) -> Verify:
    """Return the adapter around the real library of Debian."""
    built = tmp_path_factory.mktemp(library) / "verifier.so"
    run(
        ["gcc", "-std=c99", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", f"-DWITH_{library}",
         f"-I{OTA}", f"-I{UPLINK}", HERE / "verifiers.c", "-o", built, *LIBRARIES[library]]
    )  # fmt: skip
    function = ctypes.CDLL(str(built)).library_verify

    def call(key: bytes, body: bytes, tag: bytes, number: int = 1, *, lost: bool = False) -> int:
        return int(function(key, len(key), body, len(body), tag, len(tag), number, int(lost)))

    return call


def test_published_vectors(library: str, verify: Verify) -> None:
    """The RFCs' signatures are true; with one bit changed anywhere in message or tag, false."""
    for key, body, tag in [tuple(map(bytes.fromhex, vector)) for vector in VECTORS[library]]:
        assert verify(key, body, tag) == TRUE
        for at in range(len(tag)):
            assert verify(key, body, tag[:at] + bytes([tag[at] ^ 1]) + tag[at + 1 :]) == FALSE, at
        assert verify(key, body + b"\0", tag) == FALSE
        assert verify(key, body, tag, 3) == FALSE  # an unknown number
        assert verify(key, body, tag[:-1]) == FALSE
        if library == "PSA":
            assert (
                verify(key, body, tag, lost=True) == BUSY
            )  # the store's error says nothing of the tag


def _pem(private: ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    return private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def test_signed_blobs_are_verified(library: str, verify: Verify, profile: tcuq.Profile) -> None:
    """A blob of each kind of key is true for the library that has it."""
    if library == "PSA":
        private = ec.generate_private_key(ec.SECP256R1())
        numbers = private.public_key().public_numbers()
        public = b"\x04" + numbers.x.to_bytes(32, "big") + numbers.y.to_bytes(32, "big")
        signer = private_signer(_pem(private), key_number=1)
    else:
        edwards = ed25519.Ed25519PrivateKey.generate()
        public = edwards.public_key().public_bytes_raw()
        signer = private_signer(_pem(edwards), key_number=1)
    blob = profile_blob(profile, number=1, signer=signer)
    assert LABEL_END.unpack_from(blob, 116) == (0, 0, 1, 64, 0)
    assert verify(public, blob[:-64], blob[-64:]) == TRUE
    assert verify(public, blob[:-64] + b"\0", blob[-64:]) == FALSE


def test_each_device_has_its_own_key(profile: tcuq.Profile) -> None:
    """A list of devices gives blobs that differ in their tags alone, by derived keys."""
    master = bytes(range(32))
    blobs = dict(device_blobs(profile, number=1, master=master, devices=[7, 8], key_number=2))
    for device, blob in blobs.items():
        key = Keys({2: master}).profile_key(2, device)
        assert blob[-12:] == hmac.digest(key, blob[:-12], "sha256")[:12]
        assert key != Keys({2: master}).device_key(2, device)  # records have another key
        assert blob == profile_blob(profile, number=1, signer=hmac_signer(key, key_number=2))
    assert blobs[7][:-12] == blobs[8][:-12]
    assert blobs[7] != blobs[8]


def test_a_key_that_cannot_sign_is_refused() -> None:
    """Text that is no key, and keys of other kinds, are named without their content."""
    other = _pem(ec.generate_private_key(ec.SECP384R1()))
    for pem, message in (
        (b"-----BEGIN nothing", "private key in PEM"),
        (other, "Ed25519 or a P-256"),
    ):
        with pytest.raises(ExportError, match=message):
            private_signer(pem)


def test_the_command_signs_for_devices_and_products(
    saved: str, tmp_path: Path, output_of: Callable[..., str], refusal: Callable[..., str]
) -> None:
    """A master signs one file per listed device; a private key one file for the product."""
    (tmp_path / "master.txt").write_text(bytes(range(32)).hex())
    (tmp_path / "devices.txt").write_text("00000000000000ff\n1122334455667788\n")
    words = ["export", saved, "--number", 4, "--product", "0x1A2B", "--expires", "2030-01-01"]
    many = [*words, "--master", tmp_path / "master.txt", "--devices", tmp_path / "devices.txt"]
    output_of(*many, "--blob", tmp_path / "out/{device}.blob")
    blob = (tmp_path / "out/00000000000000ff.blob").read_bytes()
    assert LABEL_END.unpack_from(blob, 116) == (0x1A2B, 1893456000, 0, 12, 0)
    assert (tmp_path / "out/1122334455667788.blob").is_file()
    assert "must have {device} in its name" in refusal(*many, "--blob", tmp_path / "one.blob")
    (tmp_path / "key.pem").write_bytes(_pem(ed25519.Ed25519PrivateKey.generate()))
    output_of(*words, "--key", tmp_path / "key.pem", "--blob", tmp_path / "all.blob")
    assert LABEL_END.unpack_from((tmp_path / "all.blob").read_bytes(), 116)[3] == 64
