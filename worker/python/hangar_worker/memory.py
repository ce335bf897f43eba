"""Memory as mlx counts it."""

import mlx.core as mx

from hangar_worker import frames

_LARGEST_IDLE_CACHE_BYTES = 1 << 30


def use() -> frames.MemoryUse:
    """Bytes held, most ever held, and kept for reuse."""
    return frames.MemoryUse(
        active_bytes=int(mx.get_active_memory()),
        peak_bytes=int(mx.get_peak_memory()),
        cache_bytes=int(mx.get_cache_memory()),
    )


def trim() -> None:
    """Gives the allocator's kept buffers back once they are many; small ones are worth keeping."""
    if mx.get_cache_memory() > _LARGEST_IDLE_CACHE_BYTES:
        mx.clear_cache()


def give_back() -> None:
    """Gives every buffer that the allocator keeps for reuse back to the machine."""
    mx.clear_cache()


def keep_weights_resident() -> None:
    """Lets Metal hold the weights in wired memory, as mlx's own generators do; nothing to do elsewhere."""
    if mx.metal.is_available():
        mx.set_wired_limit(int(mx.device_info()["max_recommended_working_set_size"]))
