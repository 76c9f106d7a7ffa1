# Makes `coursekit` importable: from this clone, as installed, or installed now (torch is kept).
import importlib.util
import subprocess
import sys
import tempfile
from importlib.metadata import distributions
from pathlib import Path

repository = ""
is_here = getattr(importlib.util.find_spec("coursekit"), "origin", None)  # a mere folder has none
clones = [f for f in (Path.cwd(), *Path.cwd().parents) if (f / "coursekit/__init__.py").is_file()]
if clones:
    sys.path.insert(0, str(clones[0]))
elif not is_here and not repository:
    raise SystemExit("The course has no public address yet: open this notebook in a clone of it.")
elif not is_here:
    keep = "torch numpy pandas matplotlib scipy pillow requests ipykernel ipython ipywidgets"
    here = {(d.name or "").lower(): d.version for d in reversed([*distributions()])}
    pins = [f"{name}=={here[name]}\n" for name in keep.split() if name in here]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "keep.txt").write_text("".join(pins))
        pip = [sys.executable, "-m", "pip", "install", "-q", "-c", f"{folder}/keep.txt"]
        done = subprocess.run([*pip, f"coursekit[data] @ {repository}"], capture_output=True)
    if done.returncode:
        raise SystemExit(f"The course could not be installed. {done.stderr.decode()}")
