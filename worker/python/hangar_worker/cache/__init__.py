"""State of prompts that were read before, kept so that it need not be computed again."""

from hangar_worker.cache.store import Reuse, StateStore

__all__ = ["Reuse", "StateStore"]
