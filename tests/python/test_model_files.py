"""Folders that are missing something, damaged, or of another kind: each a fault that names the file."""

import hashlib
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from conftest import Loaded
from conversation import finished, generate, words

from hangar_worker import frames, load, miniature, model_files
from hangar_worker.faults import FaultError, ModelDamaged, ModelMissing, ModelUnsupported


def _fault(folder: Path) -> object:
    with pytest.raises(FaultError) as caught:
        load.load(folder)
    return caught.value.fault


def _edit(folder: Path, name: str, **changes: Any) -> None:
    parsed = json.loads((folder / name).read_text())
    parsed.update(changes)
    (folder / name).write_text(json.dumps(parsed))


def test_the_built_in_model_is_whole(pocket_folder: Path) -> None:
    files = model_files.check(pocket_folder)
    assert files.end_tokens == {1, 106, 50}
    assert files.weight_files == ("model.safetensors",)


def test_the_built_in_model_has_the_parameters_its_card_says(pocket: Loaded) -> None:
    loaded = pocket.loading[-1]
    assert isinstance(loaded, frames.Loaded)
    facts = loaded.model
    assert (facts.model_type, facts.vocabulary_tokens, facts.image, facts.audio) == ("gemma4", 704, True, True)
    assert facts.parameters == 1_287_278
    assert loaded.memory.active_bytes >= 4 * facts.parameters
    assert ("loading", None, 0, 0) in pocket.pipe.phases or loaded.load_ms > 0


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_missing_file_is_named(copied_pocket: Path, name: str) -> None:
    (copied_pocket / name).unlink()
    assert _fault(copied_pocket) == ModelMissing(name)


def test_a_folder_that_is_not_there_is_missing_by_its_path(tmp_path: Path) -> None:
    assert _fault(tmp_path / "nowhere") == ModelMissing(f"{tmp_path / 'nowhere'} (the whole folder)")
    (tmp_path / "file").write_text("")
    assert _fault(tmp_path / "file") == ModelMissing(f"{tmp_path / 'file'} (the whole folder)")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "generation_config.json", "processor_config.json"])
def test_a_file_that_is_not_json_is_damaged(copied_pocket: Path, name: str) -> None:
    (copied_pocket / name).write_text("{")
    assert _fault(copied_pocket) == ModelDamaged(name, "is not JSON")


def test_truncated_weights_say_both_lengths(copied_pocket: Path) -> None:
    path = copied_pocket / "model.safetensors"
    whole = path.stat().st_size
    path.write_bytes(path.read_bytes()[: whole // 2])
    assert _fault(copied_pocket) == ModelDamaged(path.name, f"expected {whole} bytes, found {whole // 2}")


def test_weights_with_something_after_them_are_damaged(copied_pocket: Path) -> None:
    path = copied_pocket / "model.safetensors"
    path.write_bytes(path.read_bytes() + b"more")
    assert isinstance(_fault(copied_pocket), ModelDamaged)


@pytest.mark.parametrize("content", [b"", b"\x01", struct.pack("<Q", 1 << 60) + b"{}", struct.pack("<Q", 2) + b"[]"])
def test_a_file_without_a_header_is_damaged(copied_pocket: Path, content: bytes) -> None:
    (copied_pocket / "model.safetensors").write_bytes(content)
    fault = _fault(copied_pocket)
    assert isinstance(fault, ModelDamaged)
    assert fault.file == "model.safetensors"


def test_a_tensor_that_contradicts_its_shape_is_damaged(copied_pocket: Path) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 8]}}).encode()
    (copied_pocket / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))
    assert _fault(copied_pocket) == ModelDamaged("model.safetensors", "header entry a contradicts itself")


def test_a_tensor_the_index_names_but_no_file_holds_is_damaged(copied_pocket: Path) -> None:
    name = "model.safetensors.index.json"
    mapped = json.loads((copied_pocket / name).read_text())["weight_map"]
    _edit(copied_pocket, name, weight_map={**mapped, "language_model.extra": "model.safetensors"})
    fault = _fault(copied_pocket)
    assert fault == ModelDamaged(
        "model.safetensors", "1 tensors of the index are not in it, first language_model.extra"
    )


def test_a_shard_the_index_names_but_is_not_there_is_missing(copied_pocket: Path) -> None:
    name = "model.safetensors.index.json"
    _edit(copied_pocket, name, weight_map={"a": "model-00002-of-00002.safetensors"})
    assert _fault(copied_pocket) == ModelMissing("model-00002-of-00002.safetensors")


def test_a_numbered_shard_without_its_siblings_is_missing_them_even_without_an_index(copied_pocket: Path) -> None:
    (copied_pocket / "model.safetensors.index.json").unlink()
    (copied_pocket / "model.safetensors").rename(copied_pocket / "model-00001-of-00002.safetensors")
    assert _fault(copied_pocket) == ModelMissing("model-00002-of-00002.safetensors")


def test_an_index_cannot_point_outside_the_folder(copied_pocket: Path) -> None:
    _edit(copied_pocket, "model.safetensors.index.json", weight_map={"a": "../other/model.safetensors"})
    assert isinstance(_fault(copied_pocket), ModelUnsupported)


@pytest.mark.parametrize("key", ["model_file", "auto_map", "ple_storage"])
@pytest.mark.parametrize("name", ["config.json", "generation_config.json"])
def test_code_in_the_folder_is_refused_and_not_run(copied_pocket: Path, name: str, key: str) -> None:
    ran = copied_pocket / "ran"
    (copied_pocket / "evil.py").write_text(f"open({str(ran)!r}, 'w')")
    _edit(copied_pocket, name, **{key: "evil.py"})
    fault = _fault(copied_pocket)
    assert isinstance(fault, ModelUnsupported)
    assert key in fault.what
    assert not ran.exists()


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("num_hidden_layers", 3, "KeyError"),
        ("num_hidden_layers", 100_000, "IndexError"),
        ("layer_types", ["full_attention"], "IndexError"),
        ("layer_types", 7, "TypeError"),
        ("hidden_size", "96", "TypeError"),
        ("num_attention_heads", 0, "ZeroDivisionError"),
        ("num_key_value_heads", -1, "ValueError"),
        ("head_dim", 1 << 40, "OverflowError"),
    ],
)
def test_a_configuration_that_contradicts_itself_is_not_supported_and_names_the_file(
    copied_pocket: Path, key: str, value: object, kind: str
) -> None:
    text = json.loads((copied_pocket / "config.json").read_text())["text_config"]
    _edit(copied_pocket, "config.json", text_config={**text, key: value})
    what = f"config.json does not describe a network that can be built and run ({kind})"
    assert Loaded(copied_pocket).loading == [frames.LoadFailed(ModelUnsupported(what))]


@pytest.mark.parametrize("section", ["text_config", "vision_config", "audio_config"])
def test_an_impossible_size_blames_a_file_of_the_model(copied_pocket: Path, section: str) -> None:
    sizes = json.loads((copied_pocket / "config.json").read_text())[section]
    _edit(copied_pocket, "config.json", **{section: {**sizes, "hidden_size": 999_999_999}})
    [frame] = Loaded(copied_pocket).loading
    assert isinstance(frame, frames.LoadFailed)
    assert isinstance(frame.fault, ModelDamaged | ModelUnsupported), frame.fault
    assert "config.json" in frame.fault.what


@pytest.mark.parametrize("kind", ["gemma3", "", None])
def test_another_architecture_is_not_supported(copied_pocket: Path, kind: object) -> None:
    _edit(copied_pocket, "config.json", model_type=kind)
    assert _fault(copied_pocket) == ModelUnsupported(f"config.json says model_type {kind}")


def test_a_missing_tensor_is_not_taken_for_an_unquantised_model(copied_pocket: Path) -> None:
    weights = dict(mx.load(str(copied_pocket / "model.safetensors")))
    del weights["language_model.model.layers.0.self_attn.k_proj.weight"]
    mx.eval(weights)
    mx.save_safetensors(str(copied_pocket / "model.safetensors"), weights, metadata={"format": "mlx"})
    (copied_pocket / "model.safetensors.index.json").unlink()
    fault = _fault(copied_pocket)
    assert isinstance(fault, ModelDamaged)
    assert "1 tensors are missing, first language_model.model.layers.0.self_attn.k_proj.weight" in fault.what


def test_a_tensor_of_another_shape_is_damaged(copied_pocket: Path) -> None:
    weights = dict(mx.load(str(copied_pocket / "model.safetensors")))
    name = "language_model.model.layers.0.mlp.up_proj.weight"
    weights[name] = weights[name][:10]
    mx.eval(weights)
    mx.save_safetensors(str(copied_pocket / "model.safetensors"), weights, metadata={"format": "mlx"})
    fault = _fault(copied_pocket)
    assert isinstance(fault, ModelDamaged)
    assert name in fault.what


def test_a_quantised_model_loads_and_counts_the_parameters_packed_in_it(
    miniature_folder: Callable[..., Path], tmp_path: Path
) -> None:
    source = miniature_folder(miniature.DENSE_31B)
    plain = load.load(source)
    weights = dict(mx.load(str(source / "model.safetensors")))
    for layer in range(len(miniature.DENSE_31B.layers)):
        for part in ("gate_proj", "up_proj"):
            name = f"language_model.model.layers.{layer}.mlp.{part}"
            packed = mx.quantize(weights[f"{name}.weight"], group_size=32, bits=4)
            weights[f"{name}.weight"], weights[f"{name}.scales"], weights[f"{name}.biases"] = packed
    mx.eval(weights)
    mx.save_safetensors(str(tmp_path / "model.safetensors"), weights, metadata={"format": "mlx"})
    (tmp_path / "tokenizer.json").write_bytes((source / "tokenizer.json").read_bytes())
    config = json.loads((source / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "quantization": {"group_size": 32, "bits": 4}}))
    quantised = Loaded(tmp_path)
    loaded = quantised.loading[-1]
    assert isinstance(loaded, frames.Loaded), loaded
    assert loaded.model.parameters == plain.parameters
    assert finished(quantised.ask(generate(words(20), 4))).tokens.completion_tokens in range(1, 5)


def test_a_failed_load_is_reported_and_the_worker_lives_on(copied_pocket: Path, pocket_folder: Path) -> None:
    (copied_pocket / "tokenizer.json").unlink()
    worker = Loaded(copied_pocket)
    assert worker.loading == [frames.LoadFailed(ModelMissing("tokenizer.json"))]
    assert isinstance(worker.ask(frames.Load(str(pocket_folder), 4096, 64, 0))[-1], frames.Loaded)
    assert worker.pipe.phases[-1] == ("idle", None, 0, 0)


def test_the_manifest_lists_every_file_of_the_built_in_model(pocket_folder: Path) -> None:
    manifest = json.loads((pocket_folder.parent / "manifest.json").read_text())
    listed = {each["path"]: (each["bytes"], each["sha256"]) for each in manifest["files"]}
    found = {
        f"model/{path.name}": (path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in pocket_folder.iterdir()
    }
    assert listed == found
