# SPDX-License-Identifier: Apache-2.0
"""Writes the JPEG files of the tests of pictures, which are also seeds of the fuzz target: fuzz/corpus/picture/*.jpg.

Needs Pillow: python3 -m pip install pillow; python3 tests/values/make_jpeg.py
"""

from pathlib import Path

from PIL import Image

FOLDER = Path(__file__).resolve().parents[2] / "fuzz/corpus/picture"
# A quarter of the picture each: top left, top right, bottom left, bottom right.
COLORS = [(200, 30, 20), (20, 180, 60), (30, 60, 190), (220, 220, 210)]
ORIENTATION = 0x0112
ROTATED_CLOCKWISE = 6


def quarters(width: int, height: int) -> Image.Image:
    image = Image.new("RGB", (width, height))
    for i, color in enumerate(COLORS):
        left, top = i % 2 * width // 2, i // 2 * height // 2
        image.paste(color, (left, top, left + width // 2, top + height // 2))
    return image


def main() -> None:
    image = quarters(32, 16)
    # Without subsampling no block of 8 x 8 has two colors.
    options = {"quality": 95, "subsampling": 0, "optimize": True}
    image.save(FOLDER / "rgb.jpg", **options)
    image.save(FOLDER / "progressive.jpg", progressive=True, **options)
    image.save(FOLDER / "subsampled.jpg", quality=80, subsampling=2, restart_marker_blocks=1, optimize=True)
    image.convert("L").save(FOLDER / "gray.jpg", quality=95, optimize=True)
    image.convert("CMYK").save(FOLDER / "cmyk.jpg", **options)
    exif = Image.Exif()
    exif[ORIENTATION] = ROTATED_CLOCKWISE
    image.save(FOLDER / "rotated.jpg", exif=exif, **options)


if __name__ == "__main__":
    main()
