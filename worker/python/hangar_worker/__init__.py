"""Python half of Hangar's worker: drives mlx-vlm for one Gemma 4 model over a pipe of JSON frames."""

__version__ = "0.1.0"
