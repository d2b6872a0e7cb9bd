# SPDX-License-Identifier: Apache-2.0
"""The 19 corruptions of CIFAR-10-C at five severities, regenerated.

D. Hendrycks, T. Dietterich: Benchmarking neural network robustness to common corruptions and
perturbations, ICLR 2019. Constants are those its authors used for CIFAR-10 (`make_cifar_c.py` in
their repository `robustness`), which differ from ImageNet-C's; the code is our own.
"""

from functools import cache
from io import BytesIO

import numpy as np
from numpy.random import Generator
from scipy import ndimage

from tcuq_benchmark.corruptions import blur, noise, weather
from tcuq_benchmark.corruptions.suite import Array, Bytes, Floats, Suite, on_bytes
from tcuq_benchmark.data import frost as frost_photographs

SIDE = 32
GAUSSIAN_NOISE = (0.04, 0.06, 0.08, 0.09, 0.10)
SHOT_NOISE = (500, 250, 100, 75, 50)
IMPULSE_NOISE = (0.01, 0.02, 0.03, 0.05, 0.07)
SPECKLE_NOISE = (0.06, 0.1, 0.12, 0.16, 0.2)
GAUSSIAN_BLUR = (0.4, 0.6, 0.7, 0.8, 1.0)
GLASS_BLUR = ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2))
DEFOCUS_BLUR = ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1.0, 0.2), (1.5, 0.1))
MOTION_BLUR = ((6, 1.0), (6, 1.5), (6, 2.0), (8, 2.0), (9, 2.5))
ZOOM_BLUR = (1.05, 1.10, 1.15, 1.20, 1.25)
FOG = ((0.2, 3.0), (0.5, 3.0), (0.75, 2.5), (1.0, 2.0), (1.5, 1.75))
FROST = ((1.0, 0.2), (1.0, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45))
SNOW = (
    (0.1, 0.2, 1.0, 0.6, 8, 3, 0.95),
    (0.1, 0.2, 1.0, 0.5, 10, 4, 0.9),
    (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
    (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
    (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
)
SPATTER = (  # the field's four constants, strength of water or softness of mud, whether mud
    (0.62, 0.1, 0.7, 0.7, 0.5, 0),
    (0.65, 0.1, 0.8, 0.7, 0.5, 0),
    (0.65, 0.3, 1.0, 0.69, 0.5, 0),
    (0.65, 0.1, 0.7, 0.69, 0.6, 1),
    (0.65, 0.1, 0.5, 0.68, 0.6, 1),
)
CONTRAST = (0.75, 0.5, 0.4, 0.3, 0.15)
BRIGHTNESS = (0.05, 0.1, 0.15, 0.2, 0.3)
SATURATE = ((0.3, 0.0), (0.1, 0.0), (1.5, 0.0), (2.0, 0.1), (2.5, 0.2))
JPEG = (80, 65, 58, 50, 40)
PIXELATE = (0.95, 0.9, 0.85, 0.75, 0.65)
ELASTIC = (
    (0.0, 0.0, 0.08),
    (0.05, 0.2, 0.07),
    (0.08, 0.06, 0.06),
    (0.1, 0.04, 0.05),
    (0.1, 0.03, 0.03),
)
# With the published constants these do not move pixels further from severity to severity.
NOT_MONOTONE = {
    "glass_blur": "more blur between severities 2 and 3 hides the moved pixels",
    "motion_blur": "severities 3 and 4 differ only in a radius that the sigma never fills",
    "frost": "from severity 3 on the image dims as the frost gets brighter",
    "elastic": "the affine part shrinks while the local part grows",
    "spatter": "water at severity 3 covers more than mud at 4",
    "saturate": "severities 1 and 2 take colour away, 3 to 5 add it",
}


@cache
def photographs() -> list[Bytes]:
    """Return the photographs of frost, loaded once."""
    return frost_photographs.load()


def motion_blur(x: Floats, severity: int, rng: Generator) -> Array:
    """Add a trail within 45 degrees of the horizontal."""
    return blur.motion(x, *MOTION_BLUR[severity - 1], rng.uniform(-45, 45, len(x)))


def spatter(x: Floats, severity: int, rng: Generator) -> Array:
    """Add water at severities 1 to 3, mud at 4 and 5."""
    *field, strength, muddy = SPATTER[severity - 1]
    drops = weather.liquid(x, tuple(field), rng)
    if muddy:
        return weather.mud(x, drops, strength, weather.MUD)
    return weather.water(x, drops, strength)


def contrast(x: Floats, severity: int, _rng: Generator) -> Array:
    """Move values towards each channel's mean."""
    mean = x.mean(axis=(1, 2), keepdims=True)
    changed: Array = (x - mean) * CONTRAST[severity - 1] + mean
    return changed


def brightness(x: Floats, severity: int, _rng: Generator) -> Array:
    """Raise the value of HSV."""
    return _hsv(x, 2, 1.0, BRIGHTNESS[severity - 1])


def saturate(x: Floats, severity: int, _rng: Generator) -> Array:
    """Lower the saturation of HSV at severities 1 and 2, raise it from 3 on, as published."""
    return _hsv(x, 1, *SATURATE[severity - 1])


def _hsv(x: Floats, channel: int, factor: float, more: float) -> Array:
    from skimage import color

    hsv = color.rgb2hsv(x)
    hsv[..., channel] = np.clip(hsv[..., channel] * factor + more, 0, 1)
    rgb: Array = color.hsv2rgb(hsv)
    return rgb


def jpeg(x: Floats, severity: int, _rng: Generator) -> Array:
    """Compress as JPEG."""
    from PIL import Image

    out = np.empty_like(x)
    for i, image in enumerate(np.rint(x * 255).astype(np.uint8)):
        with BytesIO() as file:
            Image.fromarray(image).save(file, "JPEG", quality=JPEG[severity - 1])
            with Image.open(file, formats=["JPEG"]) as picture:
                out[i] = np.asarray(picture)
    return out / 255


def pixelate(x: Floats, severity: int, _rng: Generator) -> Array:
    """Downscale and upscale with a box filter."""
    from PIL import Image

    small = int(SIDE * PIXELATE[severity - 1])
    out = np.empty_like(x)
    for i, image in enumerate(np.rint(x * 255).astype(np.uint8)):
        picture = Image.fromarray(image).resize((small, small), Image.Resampling.BOX)
        out[i] = np.asarray(picture.resize((SIDE, SIDE), Image.Resampling.BOX))
    return out / 255


def elastic(x: Floats, severity: int, rng: Generator) -> Array:
    """Apply a random affine map, then a smooth random displacement of every pixel."""
    strength, smooth, affine = (SIDE * value for value in ELASTIC[severity - 1])
    n, third = len(x), SIDE // 3
    middle, turn = np.full(2, SIDE // 2), np.array([1, -1])
    corners = np.array([middle + third, middle + turn * third, middle - third], np.float64)
    moved = corners + rng.uniform(-affine, affine, (n, 3, 2))
    # From where in the source each target pixel comes: the map that sends moved to corners.
    back = np.linalg.solve(np.concatenate([moved, np.ones((n, 3, 1))], axis=2), corners)
    column, row = np.meshgrid(np.arange(SIDE), np.arange(SIDE))
    target = np.stack([column, row, np.ones_like(row)], axis=-1)
    source = np.einsum("hwk,nkd->ndhw", target, back)
    warped = _sampled(x, source[:, 1], source[:, 0], "mirror")
    noise_fields = rng.uniform(-1, 1, (2, n, SIDE, SIDE))
    moves = strength * ndimage.gaussian_filter(noise_fields, (0, 0, smooth, smooth), truncate=3)
    return _sampled(warped, row + moves[0], column + moves[1], "reflect")


def _sampled(x: Array, row: Array, column: Array, mode: str) -> Array:
    """Interpolate each image at its own rows and columns, both (n, height, width)."""
    image = np.broadcast_to(np.arange(len(x))[:, None, None], row.shape)
    channels = [
        ndimage.map_coordinates(x[..., c], [image, row, column], order=1, mode=mode)
        for c in range(x.shape[3])
    ]
    return np.stack(channels, axis=-1)


SUITE: Suite = {
    "gaussian_noise": on_bytes(lambda x, s, rng: noise.gaussian(x, GAUSSIAN_NOISE[s - 1], rng)),
    "shot_noise": on_bytes(lambda x, s, rng: noise.shot(x, SHOT_NOISE[s - 1], rng)),
    "impulse_noise": on_bytes(lambda x, s, rng: noise.impulse(x, IMPULSE_NOISE[s - 1], rng)),
    "defocus_blur": on_bytes(lambda x, s, _: blur.defocus(x, *DEFOCUS_BLUR[s - 1])),
    "glass_blur": on_bytes(lambda x, s, rng: blur.glass(x, *GLASS_BLUR[s - 1], rng, grey=False)),
    "motion_blur": on_bytes(motion_blur),
    "zoom_blur": on_bytes(lambda x, s, _: blur.zoom(x, ZOOM_BLUR[s - 1])),
    "snow": on_bytes(lambda x, s, rng: weather.snow(x, SNOW[s - 1], rng)),
    "frost": on_bytes(lambda x, s, rng: weather.frost(x, *FROST[s - 1], photographs(), rng)),
    "fog": on_bytes(lambda x, s, rng: weather.fog(x, *FOG[s - 1], SIDE, rng)),
    "brightness": on_bytes(brightness),
    "contrast": on_bytes(contrast),
    "elastic": on_bytes(elastic),
    "pixelate": on_bytes(pixelate),
    "jpeg": on_bytes(jpeg),
    "speckle_noise": on_bytes(lambda x, s, rng: noise.speckle(x, SPECKLE_NOISE[s - 1], rng)),
    "gaussian_blur": on_bytes(lambda x, s, _: blur.gaussian(x, GAUSSIAN_BLUR[s - 1])),
    "spatter": on_bytes(spatter),
    "saturate": on_bytes(saturate),
}
# The 15 that TinyImageNet-C has, with the constants of CIFAR-10-C for images of its size.
TINYIMAGENET_SUITE: Suite = {name: SUITE[name] for name in tuple(SUITE)[:15]}
