# SPDX-License-Identifier: Apache-2.0
"""Build the playground: one page that holds the C and the streams, and requests nothing.

`python -m tools.playground.page [FILE]`. Needs clang-19, lld-19 and esbuild (`make tools`).
"""

import base64
import hashlib
import io
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from string import Template

from tcuq.charts import stylesheet

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "js/playground"
PAGE = ROOT / "build/docs/playground/app.html"


def build(page: Path = PAGE) -> Path:
    """Write the page and return its path."""
    style, code = stylesheet() + (SOURCE / "page.css").read_text("utf-8"), script()
    policy = (
        f"default-src 'none'; script-src {_source(code)} 'wasm-unsafe-eval';"
        f" style-src {_source(style)}"
    )
    text = Template((SOURCE / "page.html").read_text("utf-8")).substitute(
        policy=policy, style=style, script=code, bundle=base64.b64encode(bundle()).decode()
    )
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, "utf-8")
    return page


def script() -> str:
    """Return the page's modules and the package's as one."""
    program = shutil.which("esbuild")
    if program is None:
        raise FileNotFoundError("esbuild is missing: make tools")
    options = ("--bundle", "--minify", "--format=esm", "--target=es2022", "--external:node:*")
    done = subprocess.run(
        [program, str(SOURCE / "app.js"), *options], check=True, capture_output=True, text=True
    )
    return done.stdout.replace("</script", "<\\/script")


def bundle() -> bytes:
    """Return the C as WebAssembly and the recorded streams, in one archive."""
    content = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(content, "w") as archive:
        wasm = Path(folder) / "tcuq.wasm"
        subprocess.run(["sh", ROOT / "js/build.sh", wasm], check=True)
        for path in (wasm, *sorted((SOURCE / "streams").iterdir())):
            packed = zipfile.ZIP_STORED if path.suffix == ".npz" else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(path.name), path.read_bytes(), packed, 9)
    return content.getvalue()


def _source(text: str) -> str:
    """Return the source expression that lets a content security policy allow this text alone."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


if __name__ == "__main__":
    written = build(Path(sys.argv[1])) if len(sys.argv) > 1 else build()
    print(f"{written.stat().st_size:,} bytes in {written}")
