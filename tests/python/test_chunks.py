"""Where prompts are cut."""

import random

from hangar_worker import chunks


def test_chunks_cover_the_range_once_and_in_order() -> None:
    assert list(chunks.cut(3, 12, 4, ())) == [(3, 7), (7, 11), (11, 12)]
    assert list(chunks.cut(5, 5, 4, ())) == []


def test_a_span_is_left_for_the_next_chunk_rather_than_cut() -> None:
    assert list(chunks.cut(0, 12, 8, [(6, 10)])) == [(0, 6), (6, 12)]


def test_a_span_longer_than_a_chunk_is_a_chunk_of_its_own() -> None:
    assert list(chunks.cut(0, 30, 8, [(2, 22)])) == [(0, 2), (2, 22), (22, 30)]


def test_random_spans_are_never_cut_and_nothing_is_lost() -> None:
    chance = random.Random(7)
    for _ in range(2000):
        end = chance.randint(1, 200)
        borders = sorted(chance.sample(range(end + 1), 2 * min(chance.randint(0, 4), (end + 1) // 2)))
        spans = list(zip(borders[::2], borders[1::2], strict=True))
        start = chance.choice([0, *(last for _, last in spans)])
        cuts = list(chunks.cut(start, end, chance.randint(1, 50), spans))
        assert [first for first, _ in cuts] == ([start, *(last for _, last in cuts)][:-1] if start < end else [])
        assert not cuts or cuts[-1][1] == end
        assert all(first < last for first, last in cuts)
        assert not any(first < border < last for _, border in cuts for first, last in spans)


def test_the_last_token_goes_alone_only_after_a_large_last_chunk() -> None:
    assert chunks.plan(0, 20, 128, ()) == [(0, 20)]
    assert chunks.plan(0, 3000, 1500, ()) == [(0, 1500), (1500, 2999), (2999, 3000)]
    assert chunks.plan(2999, 3000, 128, ()) == [(2999, 3000)]
    assert chunks.plan(7, 7, 128, ()) == []


def test_the_last_token_is_not_taken_out_of_a_span() -> None:
    assert chunks.plan(0, 3000, 1500, [(2900, 3000)]) == [(0, 1500), (1500, 3000)]
    assert chunks.plan(0, 3000, 1500, [(2900, 2999)]) == [(0, 1500), (1500, 2999), (2999, 3000)]
