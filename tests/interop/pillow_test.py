"""verify --depth decode against Pillow, with which webdataset and torchvision's ImageFolder read, on damaged images.

An error of verify is an image that Pillow refuses, and nothing else is. docs/explain/verify.md lists where they differ.
SHARDKIT_SOAK makes 4000 images instead of a sample, SHARDKIT_SEED others.
"""

import collections
import io
import json
import os
import random
import struct
import sys
import tarfile
import unittest
import warnings
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cli", "support"))
from program import FolderTest, need, run  # noqa: E402
from readers_test import photographs  # noqa: E402

need("PIL")
from PIL import Image, PngImagePlugin  # noqa: E402

FULL = bool(os.environ.get("SHARDKIT_SOAK"))
PER_FORMAT = 500 if FULL else 60
A_SHARD = 20  # verify lists this many errors of a code and shard


def picture(mode="RGB", size=(61, 43)):
    image = Image.effect_noise(size, 40).convert("RGB")
    image.paste((200, 30, 90), (5, 5, 30, 30))
    return image.convert(mode)


def saved(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def texts():
    info = PngImagePlugin.PngInfo()
    info.add_text("Comment", "a text")
    info.add_text("Packed", "another text " * 20, zip=True)
    info.add_itxt("Title", "a third", "en", "Title", zip=True)
    return info


def seeds(folder):
    """Sound images of each format, with the extension for their names."""
    photos = [path.read_bytes() for path in sorted(photographs(folder).rglob("*.[jJ]*"))]
    photos = sorted((photo for photo in photos if len(photo) < 60_000), key=len)[:4]
    exif = Image.Exif()
    exif[0x0112] = 6
    profile = b"profile " * 40
    rgb = picture()
    animation = [picture().quantize(32) for _ in range(3)]
    return {
        "jpg": photos + [saved(rgb, "JPEG", exif=exif, icc_profile=profile, dpi=(72, 72)),
                         saved(rgb, "JPEG", progressive=True), saved(picture("L"), "JPEG", restart_marker_rows=1),
                         saved(picture("CMYK"), "JPEG")],
        "png": [saved(rgb, "PNG", pnginfo=texts(), icc_profile=profile, dpi=(72, 72)), saved(picture("P"), "PNG", transparency=3),
                saved(picture("LA"), "PNG"), saved(picture("1"), "PNG"),
                saved(picture("RGBA"), "PNG", save_all=True, append_images=[picture("RGBA")])],
        "webp": [saved(rgb, "WEBP", exif=exif, icc_profile=profile), saved(rgb, "WEBP", lossless=True), saved(picture("RGBA"), "WEBP"),
                 saved(Image.new("RGB", (4, 4)), "WEBP", lossless=True), saved(rgb, "WEBP", save_all=True, append_images=[picture()])],
        "gif": [saved(picture("L"), "GIF"), saved(animation[0], "GIF", save_all=True, append_images=animation[1:], comment=b"three"),
                saved(picture("P"), "GIF", interlace=1, transparency=0)],
        "bmp": [saved(rgb, "BMP"), saved(picture("L"), "BMP"), saved(picture("1"), "BMP"), saved(picture("RGBA"), "BMP")],
        "tif": [saved(rgb, "TIFF"), saved(rgb, "TIFF", big_tiff=True), saved(picture("L"), "TIFF", dpi=(72, 72)),
                saved(rgb, "TIFF", compression="tiff_deflate"), saved(rgb, "TIFF", compression="tiff_lzw")],
        "ppm": [saved(rgb, "PPM"), saved(picture("L"), "PPM"), saved(picture("1"), "PPM"), b"P3 # plain\n5 4\n255\n" + b"1 22 133\n" * 20,
                b"P6 5 4 999\n" + bytes(120)],
        "pfm": [saved(picture("F"), "PPM")],
    }


def segments(data, extension):
    """Offsets and sizes of the parts of an image: chunks of a PNG or WebP, segments of a JPEG, else 16 stripes."""
    parts, at = [], 0
    if extension == "png":
        at = 8
        while at + 8 <= len(data):
            size = struct.unpack_from(">I", data, at)[0] + 12
            parts.append((at, size))
            at += size
    elif extension == "webp":
        at = 12
        while at + 8 <= len(data):
            size = struct.unpack_from("<I", data, at + 4)[0] + 8
            parts.append((at, size + size % 2))
            at += size + size % 2
    elif extension == "jpg":
        at = 2
        while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] != 0xDA:
            size = struct.unpack_from(">H", data, at + 2)[0] + 2
            parts.append((at, size))
            at += size
        parts.append((at, len(data) - at))
    else:
        step = max(1, len(data) // 16)
        parts = [(at, min(step, len(data) - at)) for at in range(0, len(data), step)]
    return parts


def with_checksum(png, at, size):
    """A PNG whose chunk has the checksum of its changed content."""
    return png[:at + size - 4] + struct.pack(">I", zlib.crc32(png[at + 4:at + size - 4])) + png[at + size:]


def damaged(rng, data, extension):
    """One damage: a cut, a changed, left-out or repeated part, or the end."""
    parts = segments(data, extension)
    at, size = rng.choice(parts)
    kind = rng.choice(["cut", "end", "part_cut", "flip", "out", "twice", "after"])
    if extension == "tif" and kind in ("flip", "out", "twice"):
        kind = "cut"  # what is in the strips is not decoded, and every tag may change what it means
    if kind == "cut":
        return kind, data[:rng.randrange(len(data))]
    if kind == "end":
        return kind, data[:-rng.randrange(1, 20)]
    if kind == "part_cut":
        return kind, data[:at + rng.choice([0, 1, size // 2, size])]
    if kind == "flip":
        where = rng.randrange(at, at + size)
        changed = data[:where] + bytes([data[where] ^ 1 << rng.randrange(8)]) + data[where + 1:]
        if extension == "png" and rng.random() < 0.3 and at < where < at + size - 4 and where >= at + 8:
            return "flip_checked", with_checksum(changed, at, size)
        return kind, changed
    if kind == "out":
        return kind, data[:at] + data[at + size:]
    if kind == "twice":
        return kind, data[:at + size] + data[at:]
    return kind, data + rng.randbytes(rng.randrange(1, 300))


def pillow_fault(data):
    """Why Pillow refuses an image; None if it opens it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Image.open(io.BytesIO(data)).convert("RGB")
    except Exception as error:  # noqa: BLE001: it raises what it likes
        return repr(error)
    return None


def bomb(kind):
    packed = zlib.compress(b"a" * (2 << 20))
    chunk = {b"iCCP": b"name\0\0", b"zTXt": b"Comment\0\0", b"iTXt": b"Title\0\1\0\0\0"}[kind] + packed
    content = kind + chunk
    png = saved(picture(), "PNG")
    return png[:33] + struct.pack(">I", len(chunk)) + content + struct.pack(">I", zlib.crc32(content)) + png[33:]


class DamagedImages(FolderTest):
    def verdicts(self, images):
        """verify's errors by the number of the image: {number: code}."""
        folder = self.folder / "shards"
        folder.mkdir()
        for first in range(0, len(images), A_SHARD):
            with tarfile.open(folder / f"x-{first:06}.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
                for number, (extension, data) in enumerate(images[first:first + A_SHARD], first):
                    member = tarfile.TarInfo(f"{number:06}.{extension}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
        finished = run("shardctl", "verify", folder, "--depth", "decode", "--json", self.folder / "verify.json", "--quiet")
        self.assertIn(finished.returncode, (0, 3), finished.stderr)
        found = json.loads((self.folder / "verify.json").read_text())["result"]["problems"]
        return {int(problem["key"].split(".")[0]): problem["code"]
                for problem in found if problem["severity"] == "error" and problem["code"].startswith("image_")}

    def test_an_error_is_what_pillow_refuses(self):
        rng = random.Random(int(os.environ.get("SHARDKIT_SEED", 1)))
        images, kinds = [], []
        for extension, whole in seeds(self.folder).items():
            images += [(extension, data) for data in whole]
            kinds += ["whole"] * len(whole)
            for _ in range(PER_FORMAT):
                kind, data = damaged(rng, rng.choice(whole), extension)
                images.append((extension, data))
                kinds.append(kind)
        errors = self.verdicts(images)
        differing = collections.Counter()
        for number, ((extension, data), kind) in enumerate(zip(images, kinds)):
            fault = pillow_fault(data)
            if (fault is not None) == (number in errors):
                continue
            differing[extension] += 1
            print(f"{extension} {kind} of {len(data)} bytes: verify {errors.get(number)}, Pillow {fault}")
            if keep := os.environ.get("PILLOW_TEST_KEEP"):
                with open(os.path.join(keep, f"{number}-{kind}.{extension}"), "wb") as file:
                    file.write(data)
        print(f"{len(images)} images, {len(errors)} with errors; verify and Pillow differ about {dict(differing)}")
        self.assertLessEqual(sum(differing.values()), len(images) // 1000)

    def test_what_pillow_refuses_in_a_sound_looking_png(self):
        png = saved(picture(), "PNG", pnginfo=texts(), dpi=(72, 72))
        images = [("png", bomb(kind)) for kind in (b"iCCP", b"zTXt", b"iTXt")]
        for name in (b"pHYs", b"tEXt"):
            at = png.index(name) + 5
            images.append(("png", png[:at] + bytes([png[at] ^ 1]) + png[at + 1:]))
        images.append(("jfif", saved(picture(), "JPEG")[:-300]))
        images.append(("tif", (tiff := saved(picture(), "TIFF"))[:len(tiff) * 2 // 3]))
        for number, (_, data) in enumerate(images):
            self.assertIsNotNone(pillow_fault(data), number)
        self.assertEqual(set(self.verdicts(images)), set(range(len(images))))


if __name__ == "__main__":
    unittest.main()
