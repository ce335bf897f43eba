"""Speech by the machine's espeak-ng library, loaded in this process: a phrase takes milliseconds."""

import ctypes
import ctypes.util
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

SAMPLE_RATE_HZ = 16_000
"""What the model hears."""

Samples = npt.NDArray[np.float32]
"""Sound in -1..1 at 16 kHz."""

# Sound goes to the callback from within the call, with no thread of the library beside it.
_SYNCHRONOUS = 2
_RATE, _PITCH = 1, 3
_UTF8 = 1
_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)


@dataclass(frozen=True)
class Voice:
    """Who says it and how."""

    name: str
    words_per_minute: int
    pitch: int


class Speaker:
    """The synthesiser; one a process."""

    def __init__(self) -> None:
        found = ctypes.util.find_library("espeak-ng")
        if found is None:
            raise FileNotFoundError("there is no espeak-ng library: install the package espeak-ng")
        self._library = ctypes.CDLL(found)
        self.version = str(self._info())
        self._rate_hz = int(self._library.espeak_Initialize(_SYNCHRONOUS, 0, None, 0))
        self._heard: list[npt.NDArray[np.int16]] = []
        # Kept, for the library calls it later.
        self._callback = _Callback(self._take)
        self._library.espeak_SetSynthCallback(self._callback)

    def say(self, text: str, voice: Voice) -> Samples:
        """A phrase at 16 kHz, without silence around it.

        Raises:
            ValueError: there is no such voice.
        """
        self._heard = []
        if self._library.espeak_SetVoiceByName(voice.name.encode()) != 0:
            raise ValueError(f"espeak-ng has no voice {voice.name}")
        self._library.espeak_SetParameter(_RATE, voice.words_per_minute, 0)
        self._library.espeak_SetParameter(_PITCH, voice.pitch, 0)
        encoded = text.encode()
        self._library.espeak_Synth(encoded, len(encoded) + 1, 0, 1, 0, _UTF8, None, None)
        if not self._heard:
            return np.zeros(0, np.float32)
        return resampled(np.concatenate(self._heard).astype(np.float32) / 32_768, self._rate_hz)

    def _take(self, samples: "ctypes._Pointer[ctypes.c_short]", count: int, _: int) -> int:
        if samples and count > 0:
            self._heard.append(np.ctypeslib.as_array(samples, (count,)).copy())
        return 0

    def _info(self) -> str:
        self._library.espeak_Info.restype = ctypes.c_char_p
        return bytes(self._library.espeak_Info(None)).decode()


def resampled(samples: Samples, rate_hz: int) -> Samples:
    """Sound of any rate at 16 kHz, by a windowed sinc."""
    from scipy.signal import resample_poly  # noqa: PLC0415 - slow to import, and only the makers of sound need it

    if rate_hz == SAMPLE_RATE_HZ:
        return samples
    divisor = int(np.gcd(rate_hz, SAMPLE_RATE_HZ))
    made = resample_poly(samples, SAMPLE_RATE_HZ // divisor, rate_hz // divisor)
    return np.asarray(made, np.float32)
