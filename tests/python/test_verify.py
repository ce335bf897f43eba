"""What verification says of a runtime that is right, old, edited or not there."""

import base64
import hashlib
import importlib.metadata
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from memory_pipe import MemoryPipe

from hangar_worker import frames, records, verify
from hangar_worker.faults import RuntimeUnverified
from hangar_worker.service import Service


@pytest.fixture
def edited_pins(pins: Path, tmp_path: Path) -> Any:
    """Writes the pins with some values changed."""

    def edit(**changes: Any) -> Path:
        path = tmp_path / "pins.json"
        path.write_text(json.dumps({**json.loads(pins.read_text()), **changes}))
        return path

    return edit


def _installed(folder: Path, package: str, version: str) -> Path:
    """Makes a folder that says it holds this version of a package."""
    metadata = folder / f"{package.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    return folder


def _wrong(pins: Path) -> list[verify.Row]:
    return [row for row in verify.rows(pins) if not row.ok]


def test_this_runtime_is_as_pinned(pins: Path) -> None:
    rows = verify.rows(pins)
    assert [row for row in rows if not row.ok] == []
    assert {"python", "mlx", "mlx-vlm", "mlx_vlm/models/gemma4/language.py"} <= {row.name for row in rows}
    assert verify.verdict(rows) == frames.Verified()


def test_verification_imports_none_of_the_packages(pins: Path, repository: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(repository / 'worker' / 'python')!r});"
        "from hangar_worker import verify, service;"
        f"verify.rows(__import__('pathlib').Path({str(pins)!r}));"
        "heavy = {'mlx', 'mlx_vlm', 'transformers', 'numpy', 'tokenizers'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("version", ["0.7.9", "0.8.0"])
def test_another_version_differs_with_the_cure(
    pins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.syspath_prepend(str(_installed(tmp_path, "mlx-vlm", version)))
    row = next(row for row in _wrong(pins) if row.name == "mlx-vlm")
    assert (row.expected, row.found) == ("0.7.10", version)
    assert "hangar runtime repair" in row.cure


@pytest.mark.parametrize("version", ["0.6.3", "0.6.3+a0578772"])
def test_a_refused_version_is_named_with_its_reason(
    pins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.syspath_prepend(str(_installed(tmp_path, "mlx-vlm", version)))
    row = next(row for row in _wrong(pins) if row.name == "mlx-vlm")
    assert row.found == version
    assert "elastic" in row.cure
    verdict = verify.verdict([row])
    assert verdict == frames.Differs(f"mlx-vlm: expected 0.7.10, found {version}")


def test_a_package_that_is_not_there_is_found_as_none(edited_pins: Any) -> None:
    [row] = _wrong(edited_pins(packages={"no-such-package": "1.0"}))
    assert (row.name, row.found) == ("no-such-package", "none")


def test_an_edited_and_an_unpatched_file_are_told_apart(
    pins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edited_pins: Any
) -> None:
    path = "mlx_vlm/generate/ar.py"
    original = Path(str(importlib.metadata.distribution("mlx-vlm").locate_file(path))).read_bytes()
    site = _installed(tmp_path / "site", "mlx-vlm", "0.7.10")
    (site / path).parent.mkdir(parents=True)
    (site / path).write_bytes(original + b"\n# edited\n")
    monkeypatch.syspath_prepend(str(site))
    row = next(row for row in _wrong(pins) if row.name == path)
    assert row.found.startswith("edited (")
    files = json.loads(pins.read_text())["patched_files"]
    before = hashlib.sha256((site / path).read_bytes()).hexdigest()
    renamed = [{**each, "before_sha256": before} for each in files]
    row = next(row for row in _wrong(edited_pins(patched_files=renamed)) if row.name == path)
    assert row.found.startswith("unpatched (")
    (site / path).unlink()
    row = next(row for row in _wrong(pins) if row.name == path)
    assert row.found == "no such file"


@pytest.fixture
def copied_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the installed worker and engine, found before the installed ones."""
    site = tmp_path / "site"
    for package in ("hangar-worker", "mlx-vlm"):
        distribution = importlib.metadata.distribution(package)
        for file in distribution.files or ():
            if file.parts[0] != ".." and "__pycache__" not in file.parts:
                (site / file).parent.mkdir(parents=True, exist_ok=True)
                (site / file).write_bytes(Path(str(file.locate())).read_bytes())
    monkeypatch.syspath_prepend(str(site))
    return site


def _wrong_by_name(pins: Path, *, thorough: bool) -> dict[str, str]:
    return {row.name: row.found for row in verify.rows(pins, thorough=thorough) if not row.ok}


@pytest.mark.usefixtures("copied_site")
def test_this_runtime_is_as_installed_to_the_last_file(pins: Path) -> None:
    rows = verify.rows(pins, thorough=True)
    assert [row for row in rows if not row.ok] == []
    assert {"hangar_worker files", "mlx_vlm files", "hangar_worker native module"} <= {row.name for row in rows}
    engine = next(row for row in rows if row.name == "mlx_vlm files")
    assert int(engine.found.split()[0]) > 1000


@pytest.mark.parametrize("thorough", [False, True])
def test_a_missing_native_module_is_noticed_at_every_start(pins: Path, copied_site: Path, thorough: bool) -> None:
    [native] = (copied_site / "hangar_worker").glob("_native*.so")
    native.unlink()
    wrong = _wrong_by_name(pins, thorough=thorough)
    assert wrong["hangar_worker files"] == f"hangar_worker/{native.name} is missing"
    assert ("hangar_worker native module" in wrong) == thorough


@pytest.mark.parametrize("thorough", [False, True])
def test_an_edited_or_missing_worker_source_is_noticed_at_every_start(
    pins: Path, copied_site: Path, thorough: bool
) -> None:
    source = copied_site / "hangar_worker" / "sampling.py"
    whole = source.read_bytes()
    source.write_bytes(whole.replace(b"def ", b"dEf ", 1))
    assert _wrong_by_name(pins, thorough=thorough)["hangar_worker files"] == "hangar_worker/sampling.py is edited"
    source.unlink()
    (copied_site / "hangar_worker" / "memory.py").write_bytes(b"")
    wrong = _wrong_by_name(pins, thorough=thorough)
    assert wrong["hangar_worker files"] in {
        "hangar_worker/memory.py is edited and 1 more",
        "hangar_worker/sampling.py is missing and 1 more",
    }


def test_an_edited_native_module_of_the_same_length_is_noticed_and_not_loaded(pins: Path, copied_site: Path) -> None:
    [native] = (copied_site / "hangar_worker").glob("_native*.so")
    content = bytearray(native.read_bytes())
    content[len(content) // 2] ^= 1
    native.write_bytes(content)
    wrong = _wrong_by_name(pins, thorough=True)
    assert wrong["hangar_worker files"] == f"hangar_worker/{native.name} is edited"
    assert wrong["hangar_worker native module"].startswith("not tried")


def test_a_native_module_that_does_not_load_is_noticed(pins: Path, copied_site: Path) -> None:
    [native] = (copied_site / "hangar_worker").glob("_native*.so")
    native.write_bytes(b"no library")
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"no library").digest()).rstrip(b"=").decode()
    [record] = copied_site.glob("hangar_worker-*.dist-info/RECORD")
    lines = [
        f"hangar_worker/{native.name},sha256={digest},10" if line.startswith(f"hangar_worker/{native.name},") else line
        for line in record.read_text().splitlines()
    ]
    record.write_text("\n".join(lines) + "\n")
    assert _wrong_by_name(pins, thorough=True) == {"hangar_worker native module": "ImportError"}


def test_an_edited_unpatched_engine_file_is_noticed_by_the_thorough_comparison(pins: Path, copied_site: Path) -> None:
    source = copied_site / "mlx_vlm" / "utils.py"
    source.write_bytes(source.read_bytes() + b"\n# edited\n")
    assert _wrong_by_name(pins, thorough=True) == {"mlx_vlm files": "mlx_vlm/utils.py is edited"}


def test_a_package_without_a_record_is_noticed(pins: Path, copied_site: Path) -> None:
    [record] = copied_site.glob("hangar_worker-*.dist-info/RECORD")
    record.unlink()
    assert _wrong_by_name(pins, thorough=False) == {"hangar_worker files": "no record of its files"}


def test_what_every_start_compares_of_the_workers_files_takes_less_than_30_ms() -> None:
    def took_ms() -> float:
        started = time.perf_counter()
        assert records.compare("hangar-worker", "hangar_worker", hash_binaries=False).ok
        return (time.perf_counter() - started) * 1000

    assert min(took_ms() for _ in range(5)) < 30


def test_an_unsuited_python_differs(edited_pins: Any) -> None:
    [row] = _wrong(edited_pins(python={"min": "3.98", "max": "3.99"}))
    assert (row.name, row.expected) == ("python", "3.98 to 3.99")


@pytest.mark.parametrize("content", [None, "", "{", "[]", "{}", '{"schema": 2}', '{"schema": 1, "python": 3}'])
def test_pins_that_cannot_be_read_differ(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "pins.json"
    if content is not None:
        path.write_text(content)
    [row] = verify.rows(path)
    assert (row.name, row.ok) == ("pins", False)
    assert row.cure


def test_the_command_prints_one_json_value_and_exits_0_also_when_something_differs(
    repository: Path, edited_pins: Any, pins: Path
) -> None:
    for path, ok in ((pins, True), (edited_pins(packages={"mlx": "0.0.1"}), False)):
        code = f"import sys; sys.path.insert(0, {str(repository / 'worker' / 'python')!r});"
        code += "from hangar_worker import verify;"
        ran = subprocess.run(
            [sys.executable, "-I", "-c", code + "sys.exit(verify.main(sys.argv[1:]))", "--pins", str(path), "--json"],
            capture_output=True,
            text=True,
            check=True,
        )
        printed = json.loads(ran.stdout)
        assert printed["ok"] is ok
        assert all(set(row) == {"name", "ok", "expected", "found", "cure"} for row in printed["rows"])


def test_a_worker_on_another_runtime_refuses_to_load(pocket_folder: Path) -> None:
    pipe = MemoryPipe(frames.Load(str(pocket_folder), 4096, None, 0), frames.Shutdown())
    Service(pipe, frames.Differs("mlx: expected 0.32.4, found none")).run()
    assert pipe.sent == [frames.LoadFailed(RuntimeUnverified("mlx: expected 0.32.4, found none"))]
