"""What is learned, in which order and how often: the numbers that made the committed weights."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from pocket_train import pictures, scenes, talk, tools
from pocket_train.batches import Batch, Encoder, Example, Form
from pocket_train.sound import LONG_FRAMES, LONG_KINDS, SHORT_FRAMES, SHORT_KINDS

SEED = 4
WARM_UP_STEPS = 60
RATE = 2.5e-3
TEXT_STEPS = 150
"""Text alone comes first: sound and pictures then find a model that can already answer."""
CYCLES = ((0, 1400, 500), (1400, 8000, 2500))
"""First and last step of each cycle, and in how many steps at its end the rate falls to nothing."""
STEPS = CYCLES[-1][1]
PHRASES, PHRASES_SEED = 12_000, 11

_LONG_CLIP_FRAMES, _LONGEST_CLIP_FRAMES, _REST_FRAMES = 1024, 3000, 1500
_MORE_KINDS = (*SHORT_KINDS, "nothing")


@dataclass(frozen=True)
class Task:
    """A kind of batch: its form, how often it comes, and how one of its examples is made."""

    name: str
    form: Form
    share: float
    make: Callable[[random.Random, scenes.Bank], Example]


TEXT_TASKS = (
    Task("recall", Form(8, 128, 48), 4, lambda draw, _: Example(talk.recall(draw).parts)),
    Task("secret", Form(8, 128, 48), 1, lambda draw, _: Example(talk.secret(draw).parts)),
    Task("talk", Form(8, 128, 48), 1.5, lambda draw, _: Example(talk.small_talk(draw).parts)),
    Task("tools", Form(4, 256, 96), 4, lambda draw, _: Example(tools.tool_task(draw).parts)),
)
SENSE_TASKS = (
    Task(
        "hear",
        Form(5, 128, 48, clips=9, frames=SHORT_FRAMES),
        8,
        lambda draw, bank: scenes.hear(draw, bank, _MORE_KINDS),
    ),
    Task(
        "hear more",
        Form(3, 192, 72, clips=5, frames=LONG_FRAMES),
        4,
        lambda draw, bank: scenes.hear(draw, bank, LONG_KINDS),
    ),
    Task(
        "long",
        Form(2, 320, 64, clips=2, frames=_LONG_CLIP_FRAMES),
        1.5,
        lambda draw, bank: scenes.long_clip(draw, bank, _LONG_CLIP_FRAMES),
    ),
    Task(
        "two clips",
        Form(1, 1216, 64, clips=2, frames=_LONGEST_CLIP_FRAMES),
        1.5,
        lambda draw, bank: scenes.two_clips(draw, bank, _REST_FRAMES),
    ),
    Task("look", Form(2, 160, 72, pictures=6), 3, lambda draw, _: pictures.look(draw)),
)
_TEXT_SHARE = 0.7
"""How often text comes once there are senses, against what its tasks' shares say."""
_SECOND_SHARES = {
    "recall": 3.0,
    "secret": 0.4,
    "talk": 0.8,
    "tools": 6.0,
    "hear": 9.0,
    "hear more": 5.0,
    "long": 1.5,
    "two clips": 1.0,
    "look": 2.0,
}
"""How often each task comes in the second cycle: calls and speech take longest to learn."""


def rate(step: int) -> float:
    """The learning rate: in each cycle up, level, and down to nothing."""
    for first, last, falling in CYCLES:
        if step < last:
            return RATE * min(1.0, (step - first + 1) / WARM_UP_STEPS, (last - step) / falling)
    return 0.0


def batch(step: int, draw: random.Random, encoder: Encoder, bank: scenes.Bank) -> tuple[str, Batch]:
    """The batch of a step and its task's name."""
    [task] = draw.choices(*_mix(step))
    return task.name, encoder.batch(lambda: task.make(draw, bank), task.form, draw)


def _mix(step: int) -> tuple[tuple[Task, ...], list[float]]:
    """The tasks of a step with their shares."""
    tasks = TEXT_TASKS + SENSE_TASKS
    if step < TEXT_STEPS:
        return TEXT_TASKS, [task.share for task in TEXT_TASKS]
    if step < CYCLES[1][0]:
        return tasks, [task.share * (_TEXT_SHARE if task in TEXT_TASKS else 1) for task in tasks]
    return tasks, [_SECOND_SHARES[task.name] for task in tasks]
