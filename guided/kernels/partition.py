"""Minterms of sets of code points: pieces between interval ends, put into classes by the sets that contain them."""

from guided.arrays import Int32Array
from guided.kernels.jit import kernel

__all__ = ["classify", "list_classes"]


@kernel
def classify(
    indptr: Int32Array,
    first: Int32Array,
    last: Int32Array,
    class_of: Int32Array,
    size: Int32Array,
    hits: Int32Array,
    moved: Int32Array,
    touched: Int32Array,
) -> int:
    """Refine the classes of pieces by each set in turn.

    ===========  =====  ==============  =====================================================================
    argument     dtype  shape           meaning
    ===========  =====  ==============  =====================================================================
    indptr       int32  (n_sets + 1,)   intervals of each set
    first, last  int32  (n_intervals,)  pieces of each interval: first <= piece < last; disjoint within a set
    class_of     int32  (n,)            in and out: class of each piece, zeros on entry
    size         int32  (n + 1,)        in and out: members of each class; size[0] is n + 1 on entry
    hits         int32  (n + 1,)        scratch, zeros
    moved        int32  (n + 1,)        scratch
    touched      int32  (n + 1,)        scratch
    ===========  =====  ==============  =====================================================================

    Returns the number of classes. Invariant: two pieces have one class if each set so far holds both or neither. Class 0 has a virtual
    member that is not a piece, so no set takes it over and it stays the class of no set.
    Complexity: O(pieces of all intervals).
    """
    count = 1
    for s in range(len(indptr) - 1):
        n_touched = 0
        for i in range(indptr[s], indptr[s + 1]):
            for p in range(first[i], last[i]):
                c = class_of[p]
                if hits[c] == 0:
                    touched[n_touched] = c
                    n_touched += 1
                hits[c] += 1
        for j in range(n_touched):
            c = touched[j]
            moved[c] = c
            if hits[c] < size[c]:
                moved[c] = count
                size[count] = hits[c]
                size[c] -= hits[c]
                count += 1
            hits[c] = 0
        for i in range(indptr[s], indptr[s + 1]):
            for p in range(first[i], last[i]):
                class_of[p] = moved[class_of[p]]
    return count


@kernel
def list_classes(
    indptr: Int32Array,
    first: Int32Array,
    last: Int32Array,
    class_of: Int32Array,
    stamp: Int32Array,
    classes: Int32Array,
    ends: Int32Array,
) -> None:
    """List the classes of each set, one set after the other: those of set s end at ``ends[s + 1]``. O(pieces of all intervals).

    ``classes`` has room for one class for each piece of each interval; ``stamp`` (int32, one for each class) is -1 throughout on entry.
    """
    n = 0
    for s in range(len(indptr) - 1):
        for i in range(indptr[s], indptr[s + 1]):
            for p in range(first[i], last[i]):
                if stamp[class_of[p]] != s:
                    stamp[class_of[p]] = s
                    classes[n] = class_of[p]
                    n += 1
        ends[s + 1] = n
