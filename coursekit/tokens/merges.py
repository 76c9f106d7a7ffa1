"""Merging: the steps of byte-pair encoding, slow and plain, then fast.

`count_pairs` and `merge_pair` are the algorithm on a list of ids. `learn_merges` makes the same
merges without counting again; `merge_ranked` applies merges to one chunk of a text.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

Pair = tuple[int, int]

BORDER = -1
"""What stands between two chunks."""

GONE = -2
"""What stands in the place of an id that was merged into the one before it."""


def count_pairs(ids: Sequence[int]) -> Counter[Pair]:
    """Count how often each two ids stand side by side.

    Overlaps count: a, a, a holds the pair (a, a) twice, although it can be merged only once.

    Example:
        >>> count_pairs([1, 2, 3, 1, 2])
        Counter({(1, 2): 2, (2, 3): 1, (3, 1): 1})
    """
    return Counter(pairwise(ids))


def merge_pair(ids: Sequence[int], pair: Pair, new: int) -> list[int]:
    """Replace each occurrence of `pair` by the id `new`, from left to right, without overlap.

    Example:
        >>> merge_pair([1, 1, 1, 2], (1, 1), 9)
        [9, 1, 2]
    """
    merged = []
    i = 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            merged.append(new)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


def merge_ranked(chunk: bytes, ranks: Mapping[bytes, int]) -> list[int]:
    """Merge the two neighbours whose joint bytes have the lowest rank, until none has a rank.

    Among equals the leftmost is merged first. A heap holds the pairs that were possible once;
    one whose parts have been merged meanwhile is skipped when it comes up. n bytes take about
    n log n steps, however long the chunk.
    """
    size = len(chunk)
    end = list(range(1, size + 1))  # the part that starts at i ends before end[i]; 0: swallowed
    before = list(range(-1, size))  # where the part to the left of i starts
    heap = [(rank, i) for i in range(size - 1) if (rank := ranks.get(chunk[i : i + 2])) is not None]
    heapq.heapify(heap)
    while heap:
        rank, i = heapq.heappop(heap)
        middle = end[i]
        if not 0 < middle < size or ranks.get(chunk[i : end[middle]]) != rank:
            continue
        stop = end[middle]
        end[i] = stop
        end[middle] = 0
        if i > 0:
            left = before[i]
            if (rank := ranks.get(chunk[left:stop])) is not None:
                heapq.heappush(heap, (rank, left))
        if stop < size:
            before[stop] = i
            if (rank := ranks.get(chunk[i : end[stop]])) is not None:
                heapq.heappush(heap, (rank, i))
    return [ranks[chunk[i:stop]] for i, stop in enumerate(end) if stop]


def learn_merges(chunks: Mapping[bytes, int], n_merge: int) -> list[Pair]:
    """Merge the most frequent pair, `n_merge` times over; return the pairs in order.

    Args:
        chunks: the distinct pieces of a text, between which nothing merges, and how often each
            occurs.
        n_merge: how many merges to make; the first one makes the token 256.

    Raises:
        ValueError: if no pair is left before that.
    """
    ledger = PairLedger(chunks)
    merges: list[Pair] = []
    for new in range(256, 256 + n_merge):
        pair = ledger.most_frequent()
        if pair is None:
            raise ValueError(
                f"0 pairs are left after {len(merges)} of {n_merge} merges: "
                f"train on more text, or ask for {n_merge - len(merges)} tokens fewer"
            )
        ledger.merge(pair, new)
        merges.append(pair)
    return merges


class ChunkRow:
    """All chunks in one row, BORDER between them: each id knows the ones on either side.

    So two ids become one where they stand, and nothing else moves.
    """

    def __init__(self, chunks: Mapping[bytes, int]) -> None:
        self.ids = [BORDER]
        self.times = [0]  # times[i]: how often the chunk around i occurs
        for chunk, n in chunks.items():
            self.ids += [*chunk, BORDER]
            self.times += [n] * (len(chunk) + 1)
        self.before = list(range(-1, len(self.ids) - 1))
        self.after = list(range(1, len(self.ids) + 1))

    def pair_at(self, i: int) -> Pair:
        """Return the id at `i` and the next one."""
        return self.ids[i], self.ids[self.after[i]]

    def merge_at(self, i: int, new: int) -> Pair:
        """Put `new` in the place of the pair at `i`; return the ids to its left and right."""
        second = self.after[i]
        following = self.after[second]
        self.ids[i] = new
        self.ids[second] = GONE
        self.after[i] = following
        self.before[following] = i
        return self.ids[self.before[i]], self.ids[following]


class PairLedger:
    """Keep how often each pair occurs, and where, so that a merge visits only those positions.

    Pairs with BORDER are counted, but never merged.
    """

    def __init__(self, chunks: Mapping[bytes, int]) -> None:
        self.row = ChunkRow(chunks)
        self.counts: dict[tuple[int, int], int] = defaultdict(int)
        self.positions: dict[tuple[int, int], list[int]] = defaultdict(list)  # of first ids
        for i, pair in enumerate(pairwise(self.row.ids)):
            self.counts[pair] += self.row.times[i]
            self.positions[pair].append(i)
        self.heap = sorted((-n, pair) for pair, n in self.counts.items() if BORDER not in pair)

    def most_frequent(self) -> Pair | None:
        """Return the most frequent pair; of several, the one with the smallest ids."""
        while self.heap:
            n, pair = heapq.heappop(self.heap)
            if -n == self.counts[pair]:
                return pair
            if self.counts[pair]:  # merges have taken some since: back with what is left
                heapq.heappush(self.heap, (-self.counts[pair], pair))
        return None

    def merge(self, pair: Pair, new: int) -> None:
        """Replace `pair` by `new` wherever it stands, from left to right without overlap."""
        born = set()
        for i in self.positions.pop(pair):  # in order: one sweep listed them all
            if self.row.pair_at(i) != pair:
                continue  # one of the two went into another merge
            n = self.row.times[i]
            left, right = self.row.merge_at(i, new)
            self.counts[left, pair[0]] -= n
            self.counts[pair[1], right] -= n
            with_left = (left, new)
            with_right = (new, right)
            self.counts[with_left] += n
            self.counts[with_right] += n
            self.positions[with_left].append(self.row.before[i])
            self.positions[with_right].append(i)
            born |= {with_left, with_right}
        for pair in born:
            if BORDER not in pair and self.counts[pair]:
                heapq.heappush(self.heap, (-self.counts[pair], pair))
