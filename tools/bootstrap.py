import importlib.util, os, subprocess, sys  # finds the course, or installs it (torch is kept)

repository = ""
sys.path[:0] = [p for p in (".", "..", "../..") if os.path.exists(p + "/coursekit/__init__.py")]
if not getattr(importlib.util.find_spec("coursekit"), "origin", None):  # neither here nor installed
    if not repository:
        sys.exit("The course has no public address yet: open this notebook in a clone of it.")
    pip = f'"{sys.executable}" -m pip install -q --no-deps "{repository}"'
    failed, said = subprocess.getstatusoutput(f'{pip} && "{sys.executable}" -m coursekit.complete')
    failed and sys.exit(f"The course could not be installed. {said}")
