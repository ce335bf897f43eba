"""Decoded media of a prompt to what the towers read; one image or clip at a time."""

import base64
import binascii
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from mlx_vlm.models.gemma4 import Gemma4AudioFeatureExtractor, Gemma4ImageProcessor
from PIL import Image

from hangar_worker import frames
from hangar_worker.faults import invalid

SAMPLE_RATE_HZ = 16_000
"""Rate of every clip."""
SHORTEST_CLIP_SAMPLES = SAMPLE_RATE_HZ // 50
"""20 ms: the audio tower has nothing to attend to in less."""
# The feature extractor cuts longer clips silently; the server splits them.
LONGEST_CLIP_SAMPLES = 30 * SAMPLE_RATE_HZ
"""30 s: the tower's own limit."""
# One soft token covers 640 samples: clips padded to it have as many encoder frames as tokens.
_SAMPLES_PER_TOKEN = 640

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class ImageInput:
    """One image as the vision tower reads it, and how many tokens it takes."""

    pixels: Floats
    tokens: int


@dataclass(frozen=True)
class AudioInput:
    """One clip as the audio tower reads it, and how many tokens it takes."""

    features: Floats
    mask: npt.NDArray[np.bool_]
    tokens: int


MediaInput = ImageInput | AudioInput


class Reader(Protocol):
    """Reads one medium; the media reader below, or a stand-in where a test needs none."""

    def read(self, media: frames.Media, where: str) -> MediaInput:
        """Reads one medium; `where` names it in faults."""


class MediaReader:
    """Reads images and clips as one model's processor settings say."""

    def __init__(self, config: dict[str, Any], processor_config: dict[str, Any]) -> None:
        """Takes the settings from the processor's file, else from the model's own."""
        image = processor_config.get("image_processor", processor_config)
        vision = config.get("vision_config") or {}
        settings = {
            "patch_size": vision.get("patch_size", 16),
            "pooling_kernel_size": vision.get("pooling_kernel_size", 3),
            "max_soft_tokens": config.get("vision_soft_tokens_per_image", 280),
        }
        named = ("do_rescale", "do_resize", "do_normalize", "image_mean", "image_std", "rescale_factor")
        settings.update({key: image[key] for key in (*settings, *named) if image.get(key) is not None})
        self._image = Gemma4ImageProcessor(**settings)
        extractor = processor_config.get("feature_extractor", {})
        self._audio = Gemma4AudioFeatureExtractor(
            **{key: value for key, value in extractor.items() if not key.endswith("_type")}
        )
        self._longest_audio_tokens = int(processor_config.get("audio_seq_length", 750))

    def read(self, media: frames.Media, where: str) -> MediaInput:
        """Reads one medium.

        Raises:
            FaultError: `prompt_invalid` naming the medium.
        """
        match media:
            case frames.Rgb8():
                return self._read_image(media, where)
            case frames.Pcm16k():
                return self._read_audio(media, where)

    def _read_image(self, media: frames.Rgb8, where: str) -> ImageInput:
        expected = media.width * media.height * 3
        data = _base64(media.data_base64, where)
        if expected == 0 or len(data) != expected:
            raise invalid(f"{where}: {media.width}x{media.height} RGB takes {expected} bytes, found {len(data)}")
        rows = np.frombuffer(data, np.uint8).reshape(media.height, media.width, 3)
        try:
            prepared, tokens = self._image.preprocess([Image.fromarray(rows)])
        except ValueError:
            raise invalid(f"{where}: {media.width}x{media.height} is too long and thin for the vision tower") from None
        return ImageInput(pixels=np.asarray(prepared["pixel_values"], np.float32), tokens=int(tokens[0]))

    def _read_audio(self, media: frames.Pcm16k, where: str) -> AudioInput:
        data = _base64(media.data_base64, where)
        if len(data) % 4:
            raise invalid(f"{where}: {len(data)} bytes are not whole 32-bit samples")
        samples = np.frombuffer(data, "<f4").astype(np.float32)
        if not SHORTEST_CLIP_SAMPLES <= len(samples) <= LONGEST_CLIP_SAMPLES:
            allowed = f"{SHORTEST_CLIP_SAMPLES} to {LONGEST_CLIP_SAMPLES}"
            raise invalid(f"{where}: {len(samples)} samples; a clip holds {allowed} at 16 kHz")
        if not np.isfinite(samples).all():
            raise invalid(f"{where}: samples must be finite numbers")
        padded = np.pad(samples, (0, -len(samples) % _SAMPLES_PER_TOKEN))
        extracted = self._audio([padded])
        mask = np.asarray(extracted["input_features_mask"][0], np.bool_)
        # Two strided convolutions keep every fourth frame; a token stands for each that is left.
        tokens = min(int(mask[::2][::2].sum()), self._longest_audio_tokens)
        return AudioInput(np.asarray(extracted["input_features"][0], np.float32), mask, tokens)


def _base64(text: str, where: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise invalid(f"{where}: data_base64 is not base64") from None
