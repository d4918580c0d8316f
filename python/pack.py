"""pack.py BUILD OUT: packs what a build folder has into a wheel, without compiling anything; prints its path.

The wheel holds the package, the module, the program and the catalogue, as `pip install .` makes it (pyproject.toml).
`./dev wheel` has auditwheel put the libraries in that both need.
"""

import base64
import hashlib
import re
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def files(build: Path) -> dict[str, Path]:
    """What the wheel holds, by its place there."""
    found = {}
    for source in (ROOT / "python/src", build / "python/stubs"):
        for path in sorted((*source.glob("orrery/**/*"), *source.glob("amped/**/*"))):
            if path.is_file() and "__pycache__" not in path.parts:
                found[str(path.relative_to(source))] = path
    for path in sorted((ROOT / "catalog").rglob("*")):
        if path.is_file():
            found[f"orrery/share/orrery/catalog/{path.relative_to(ROOT / 'catalog')}"] = path
    (module,) = (build / "python").glob("_orrery*.so")
    found[f"orrery/{module.name}"] = module
    found["orrery/bin/orrery"] = build / "orrery"
    return found


def licences(at: str) -> dict[str, Path]:
    """Ours, and those of the libraries that the wheel holds, as Debian has them."""
    found = {f"{at}/LICENSE": ROOT / "LICENSE"}
    listed = re.search(r"foreach\(package (coinor[^)]*)\)", (ROOT / "cmake/install.cmake").read_text(encoding="utf-8"))
    for package in [*(listed.group(1).split() if listed else []), "libfmt", "liblapack", "libblas"]:
        path = Path("/usr/share/doc", f"{package}-dev", "copyright")
        if path.is_file():
            found[f"{at}/copyright.{package}"] = path
    gfortran = Path("/usr/share/doc/libgfortran5/copyright")
    if gfortran.is_file():
        found[f"{at}/copyright.libgfortran"] = gfortran
    return found


def texts(project: dict, version: str, tag: str) -> dict[str, str]:
    """METADATA, WHEEL and entry_points.txt."""
    extras = [
        line
        for extra, needs in project["optional-dependencies"].items()
        for line in (f"Provides-Extra: {extra}", *(f'Requires-Dist: {each}; extra == "{extra}"' for each in needs))
    ]
    head = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"Requires-Python: {project['requires-python']}",
        f"License: {project['license']['text']}",
        *extras,
        "Description-Content-Type: text/markdown",
    ]
    scripts = [f"{name} = {where}" for name, where in project["scripts"].items()]
    return {
        "METADATA": "\n".join(head) + "\n\n" + (ROOT / project["readme"]).read_text(encoding="utf-8"),
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: orrery\nRoot-Is-Purelib: false\nTag: {tag}\n",
        "entry_points.txt": "\n".join(["[console_scripts]", *scripts, ""]),
    }


def main() -> None:
    build, out = Path(sys.argv[1]), Path(sys.argv[2])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = re.search(
        r"project\(orrery VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    ).group(1)
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    (module,) = (build / "python").glob("_orrery*.so")
    abi = "abi3" if ".abi3." in module.name else python
    tag = f"{python}-{abi}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    info = f"orrery-{version}.dist-info"
    out.mkdir(parents=True, exist_ok=True)
    wheel = out / f"orrery-{version}-{tag}.whl"
    record = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(name: str, content: bytes, executable: bool = False) -> None:
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            archive.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(content)}")

        for name, path in {**files(build), **licences(f"{info}/licenses")}.items():
            add(name, path.read_bytes(), name.startswith("orrery/bin/"))
        for name, text in texts(project, version, tag).items():
            add(f"{info}/{name}", text.encode())
        record.append(f"{info}/RECORD,,")
        add(f"{info}/RECORD", "\n".join([*record, ""]).encode())
    print(wheel)


if __name__ == "__main__":
    main()
