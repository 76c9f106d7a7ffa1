"""What pyproject.toml has no words for: the wheel takes a folder along that lies elsewhere."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["coursekit*"]), "coursekit.recorded"],
    package_dir={"coursekit.recorded": "notebooks/recorded"},
)
