"""What can be the id of a token."""

from numbers import Integral


def is_id(i: object) -> bool:
    """Tell whether `i` is a whole number.

    1.0 and True are none, although they equal 1 and would find its token in a table.
    """
    return isinstance(i, Integral) and not isinstance(i, bool)
