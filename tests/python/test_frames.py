"""The frames of the pipe, against the transcripts that the Rust tests read too."""

import json
from pathlib import Path
from typing import get_args

import pytest

from hangar_worker import codec, faults, frames


def _lines(repository: Path, name: str) -> list[str]:
    return (repository / "tests" / "golden" / name).read_text(encoding="utf-8").splitlines()


def test_every_golden_command_reads_and_writes_back_the_same(repository: Path) -> None:
    lines = _lines(repository, "to_worker.jsonl")
    for line in lines:
        assert json.loads(codec.encode(codec.decode_to_worker(line))) == json.loads(line)
    assert {type(codec.decode_to_worker(line)) for line in lines} == set(get_args(frames.ToWorker))


def test_every_golden_report_reads_and_writes_back_the_same(repository: Path) -> None:
    lines = _lines(repository, "from_worker.jsonl")
    for line in lines:
        assert json.loads(codec.encode(codec.decode_from_worker(line))) == json.loads(line)
    assert {type(codec.decode_from_worker(line)) for line in lines} == set(get_args(frames.FromWorker))


def test_golden_transcripts_hold_every_segment_medium_piece_fault_phase_and_reason(repository: Path) -> None:
    commands = [codec.decode_to_worker(line) for line in _lines(repository, "to_worker.jsonl")]
    reports = [codec.decode_from_worker(line) for line in _lines(repository, "from_worker.jsonl")]
    prompts = [frame.prompt for frame in commands if isinstance(frame, frames.Generate | frames.Probe)]
    segments = {type(segment) for prompt in prompts for group in prompt.groups for segment in group.segments}
    assert segments == set(get_args(frames.Segment))
    assert {type(medium) for prompt in prompts for medium in prompt.media} == set(get_args(frames.Media))
    pieces = {type(piece) for frame in reports if isinstance(frame, frames.Pieces) for piece in frame.pieces}
    assert pieces == set(get_args(frames.Piece))
    held = {type(frame.fault) for frame in reports if isinstance(frame, frames.Failed | frames.LoadFailed)}
    assert held == set(get_args(faults.Fault))
    assert {frame.phase for frame in reports if isinstance(frame, frames.Beat)} == set(get_args(frames.Phase))
    reasons = {frame.reason for frame in reports if isinstance(frame, frames.Finished)}
    assert reasons == set(get_args(frames.FinishReason))


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ("{", "frame is not JSON"),
        ("[]", "frame is not an object"),
        ('{"type":"nonsense"}', "frame.type is unknown"),
        ('{"type":"ping"}', "frame.nonce is missing"),
        ('{"type":"ping","nonce":-1}', "frame.nonce is not a int"),
        ('{"type":"ping","nonce":true}', "frame.nonce is not a int"),
        (
            '{"type":"probe","request":1,"prompt":{"groups":[{"segments":[{"type":"text","text":5}]}],"media":[]}}',
            "frame.prompt.groups[0].segments[0].text is not a str",
        ),
    ],
)
def test_what_is_not_a_frame_is_refused_by_field(line: str, where: str) -> None:
    with pytest.raises(codec.CodecError) as caught:
        codec.decode_to_worker(line)
    assert str(caught.value) == where


def test_a_number_that_json_cannot_hold_is_not_written() -> None:
    report = frames.ProbeReport(float("nan"), 1, 1)
    with pytest.raises(ValueError, match="JSON"):
        codec.encode(frames.Probed(1, report))
