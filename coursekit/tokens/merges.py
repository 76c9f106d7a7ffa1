"""Merging: the steps of byte-pair encoding, slow and plain, then fast.

`count_pairs` and `merge_pair` are the algorithm on a list of ids. `learn_merges` makes the same
merges without counting again; `merge_ranked` applies merges to one chunk of a text.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

Pair = tuple[int, int]


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
    merged, i = [], 0
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
        stop = end[i] = end[middle]
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
    ledger, merges = PairLedger(chunks), []
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


class PairLedger:
    """Keep how often each pair occurs, and where, so that a merge visits only those places.

    The chunks stand in a row, -1 between them. A merge writes the new id over the left of the
    two and unlinks the right one. Pairs with -1 are counted, but never merged.
    """

    def __init__(self, chunks: Mapping[bytes, int]) -> None:
        self.ids, self.times = [-1], [0]  # times[i]: how often the chunk around i occurs
        for chunk, n in chunks.items():
            self.ids += [*chunk, -1]
            self.times += [n] * (len(chunk) + 1)
        self.before, self.after = [*range(-1, len(self.ids) - 1)], [*range(1, len(self.ids) + 1)]
        self.counts, self.places = defaultdict(int), defaultdict(list)  # where the left id stands
        for i, pair in enumerate(pairwise(self.ids)):
            self.counts[pair] += self.times[i]
            self.places[pair].append(i)
        self.heap = sorted((-n, pair) for pair, n in self.counts.items() if -1 not in pair)

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
        ids, before, after, born = self.ids, self.before, self.after, set()
        for i in self.places.pop(pair):  # in order: one sweep listed them all
            if (ids[i], ids[j := after[i]]) == pair:  # unless one went into another merge
                h, k = before[i], after[j]
                left, right = (ids[h], new), (new, ids[k])
                for place, old, now in (h, (ids[h], ids[i]), left), (i, (ids[j], ids[k]), right):
                    self.counts[old] -= self.times[i]
                    self.counts[now] += self.times[i]
                    self.places[now].append(place)
                born |= {left, right}
                ids[i], ids[j], after[i], before[k] = new, -2, k, i
        for now in born:
            if -1 not in now and self.counts[now]:
                heapq.heappush(self.heap, (-self.counts[now], now))
