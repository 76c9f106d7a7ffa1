"""What can be the id of a token."""

import operator


def to_id(i: object) -> int | None:
    """Return `i` as an integer if it is a whole number of any library, and None if it is not.

    1.0 and True are none, although they equal 1 and would find its token in a table.
    """
    if isinstance(i, bool):
        return None
    try:
        return operator.index(i)  # type: ignore[arg-type]  # what it refuses is asked for
    except TypeError:
        return None
