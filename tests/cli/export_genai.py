#!/usr/bin/env python3
"""--emit genai: the pipeline of a decoder, run as onnxruntime-genai runs it, and what is no decoder."""

import json
import re
import sys

import numpy as np
import onnx
import onnxruntime as ort
from _exports import HEAD, emit, model_of, profile, sha256
from _tool import INPUT, OUTPUT, USAGE, expect, main, refused

FORM = "genai"
# Two layers: a cache is what was there and what came new.
DECODER = """g (int64[B,S] input_ids, int64[B,T] attention_mask,
    float[B,2,P,4] past_key_values__0__key, float[B,2,P,4] past_key_values__0__value,
    float[B,2,P,4] past_key_values__1__key, float[B,2,P,4] past_key_values__1__value)
  => (float[B,S,8] logits, float[B,2,Q,4] present__0__key, float[B,2,Q,4] present__0__value,
      float[B,2,Q,4] present__1__key, float[B,2,Q,4] present__1__value)
  <float[10,8] table = {{{table}}}, int64[4] heads = {{0, 0, 2, 4}}> {{
  h0 = Gather (table, input_ids)  r0 = Relu (h0)  q0 = Reshape (r0, heads)
  n0 = Transpose <perm = [0, 2, 1, 3]> (q0)
  present__0__key = Concat <axis = 2> (past_key_values__0__key, n0)
  e0 = Erf (n0)  present__0__value = Concat <axis = 2> (past_key_values__0__value, e0)
  h1 = Erf (r0)  q1 = Reshape (h1, heads)  n1 = Transpose <perm = [0, 2, 1, 3]> (q1)
  present__1__key = Concat <axis = 2> (past_key_values__1__key, n1)
  e1 = Erf (n1)  present__1__value = Concat <axis = 2> (past_key_values__1__value, e1)
  s = ReduceSum <keepdims = 1> (present__1__value)  t = Squeeze (s)
  m = ReduceSum <keepdims = 0> (attention_mask)  f = Cast <to = 1> (m)
  u = Add (h1, t)  logits = Add (u, f)
}}""".format(table=", ".join(str(i / 7) for i in range(80)))
# In the text __ stands for a dot, which it cannot have in names.
KEYS = {  # of src/config.cpp of onnxruntime-genai, which refuses others
    "": {"model", "search"},
    "model": {"type", "vocab_size", "decoder"},
    "decoder": {"head_size", "num_key_value_heads", "num_hidden_layers", "inputs", "outputs", "pipeline"},
    "entry": {"filename", "inputs", "outputs", "session_options"},
}


def named(text, **names):
    for old, new in names.items():
        text = re.sub(rf"\b{old}\b", new, text)
    return text


def parsed(text):
    m = onnx.parser.parse_model(HEAD + text)
    for v in [*m.graph.input, *m.graph.output]:
        v.name = v.name.replace("__", ".")
    for n in m.graph.node:
        for field in (n.input, n.output):
            for i, name in enumerate(field):
                field[i] = name.replace("__", ".")
    return m


def run(folder, feeds):
    """What decoder_only_pipeline.cpp does: inputs that it makes, and what earlier models gave."""
    config = json.loads((folder / "genai_config.json").read_text())
    store = dict(feeds)
    for group in config["model"]["decoder"]["pipeline"]:
        for one in group.values():
            session = ort.InferenceSession(folder / one["filename"], providers=["CPUExecutionProvider"])
            expect([v.name for v in session.get_inputs()] == one["inputs"], one)
            given = {n: store[n] for n in one["inputs"]}
            store.update(zip(one["outputs"], session.run(one["outputs"], given), strict=True))
    return config, store


def test_pipeline(tool, folder):
    npu = profile(
        folder,
        "Gather",
        "Relu",
        "Reshape",
        "Concat",
        "Add",
        ep={"name": "QNNExecutionProvider", "options": {"k": "v"}},
    )
    done = emit(tool, folder, FORM, parsed(DECODER), devices=npu)
    expect("context_length" in done.stderr and "vocab_size" not in done.stderr, done.stderr)
    rng = np.random.default_rng(1)
    cache = {f"past_key_values.{i}.{k}": (1, 2, 3, 4) for i in range(2) for k in ("key", "value")}
    feeds = {n: rng.standard_normal(s).astype(np.float32) for n, s in cache.items()}
    feeds |= {"input_ids": np.array([[1, 9]]), "attention_mask": np.ones((1, 5), np.int64)}
    config, store = run(folder / "m.genai", feeds)
    whole = ort.InferenceSession(folder / "m.onnx", providers=["CPUExecutionProvider"])
    for v, wanted in zip(whole.get_outputs(), whole.run(None, feeds), strict=True):
        expect(np.array_equal(store[v.name], wanted), v.name)
    model = config["model"]
    decoder = model["decoder"]
    expect(
        set(config) == KEYS[""] and set(model) == KEYS["model"] and set(decoder) == KEYS["decoder"], config
    )
    told = [model["type"], model["vocab_size"]] + [
        decoder[k] for k in ("head_size", "num_key_value_heads", "num_hidden_layers")
    ]
    expect(told == ["decoder-pipeline", 8, 4, 2, 2], told)
    inputs = {"input_ids": "input_ids", "attention_mask": "attention_mask"} | {
        f"past_{k}_names": f"past_key_values.%d.{k}" for k in ("key", "value")
    }
    outputs = {"logits": "logits"} | {f"present_{k}_names": f"present.%d.{k}" for k in ("key", "value")}
    expect(decoder["inputs"] == inputs and decoder["outputs"] == outputs, decoder)
    manifest = json.loads((folder / "m.manifest.json").read_text())
    of = {s["id"]: s["device"] for s in manifest["subgraphs"]}
    entries = [(name, one) for group in decoder["pipeline"] for name, one in group.items()]
    expect([name for name, _ in entries] == manifest["partition"]["order"], entries)
    expect(len(entries) > 2 and {"npu", "cpu"} == set(of.values()), of)
    for name, one in entries:
        expect(set(one) == KEYS["entry"], one)
        options = [{"QNN": {"k": "v"}}] if of[name] == "npu" else []
        expect(one["session_options"] == {"provider_options": options}, one)
    marker = json.loads((folder / "m.genai/graphopt.json").read_text())
    told = {"path": "../m.manifest.json", "sha256": sha256(folder / "m.manifest.json")}
    expect(marker["manifest"] == told and marker["form"] == FORM, marker)
    files = lambda: {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    before = files()
    emit(tool, folder, FORM, parsed(DECODER), devices=npu)
    expect(before == files(), "a second run differs")


def test_parts_in_a_folder(tool, folder):
    """The pipeline names the parts where they are."""
    emit(tool, folder, FORM, parsed(DECODER), "--parts-dir", "a/b")
    rng = np.random.default_rng(1)
    cache = {f"past_key_values.{i}.{k}": (1, 2, 3, 4) for i in range(2) for k in ("key", "value")}
    feeds = {n: rng.standard_normal(s).astype(np.float32) for n, s in cache.items()}
    feeds |= {"input_ids": np.array([[1, 9]]), "attention_mask": np.ones((1, 5), np.int64)}
    config, store = run(folder / "m.genai", feeds)
    entries = [one for group in config["model"]["decoder"]["pipeline"] for one in group.values()]
    expect(all(e["filename"].startswith("../a/b/m.s") for e in entries), entries)
    whole = ort.InferenceSession(folder / "m.onnx", providers=["CPUExecutionProvider"])
    for v, wanted in zip(whole.get_outputs(), whole.run(None, feeds), strict=True):
        expect(np.allclose(store[v.name], wanted, atol=1e-5), v.name)


def test_other_names(tool, folder):
    """Keys and values with the number at the end, and both in one."""
    text = DECODER
    for i in range(2):
        for kind in ("key", "value"):
            text = text.replace(f"past_key_values__{i}__{kind}", f"past_{kind}_{i}")
            text = text.replace(f"present__{i}__{kind}", f"present_{kind}_{i}")
    emit(tool, folder, FORM, parsed(text))
    decoder = json.loads((folder / "m.genai/genai_config.json").read_text())["model"]["decoder"]
    told = [decoder["inputs"].get(f"past_{k}_names") for k in ("key", "value")]
    expect(told == ["past_key_%d", "past_value_%d"], decoder["inputs"])
    text = """g (int64[B,S] input_ids, float[2,B,3,P,5] past_0)
      => (float[B,S] logits, float[2,B,3,P,5] present_0) {
      logits = Cast <to = 1> (input_ids)  present_0 = Relu (past_0)
    }"""
    done = emit(tool, folder, FORM, parsed(text))
    expect("vocab_size" in done.stderr, done.stderr)
    model = json.loads((folder / "m.genai/genai_config.json").read_text())["model"]
    decoder = model["decoder"]
    expect(decoder["inputs"]["past_names"] == "past_%d" and "vocab_size" not in model, model)
    expect(decoder["outputs"]["present_names"] == "present_%d", decoder)
    expect((decoder["head_size"], decoder["num_key_value_heads"]) == (5, 3), decoder)


def test_dead_nodes_and_defaults(tool, folder):
    text = """g (int64[B,S] input_ids, float[1] k, float[B,1,P,4] past__0) =>
      (float[B,S] logits, float[B,1,P,4] present__0) <float[1] k = {2}> {
      logits = Cast <to = 1> (input_ids)  present__0 = Mul (past__0, k)  d = Erf (present__0)  e = Relu (d)
    }"""
    emit(tool, folder, FORM, parsed(text))
    feeds = {"input_ids": np.array([[3, 4]]), "past.0": np.ones((1, 1, 2, 4), np.float32)}
    config, store = run(folder / "m.genai", feeds)
    expect(np.array_equal(store["present.0"], 2 * feeds["past.0"]), store)
    manifest = json.loads((folder / "m.manifest.json").read_text())
    dead = [s["id"] for s in manifest["subgraphs"] if not s["outputs"]]
    names = [n for group in config["model"]["decoder"]["pipeline"] for n in group]
    expect(dead and not set(dead) & set(names), dead, names)


NONE = {
    "no cache": (
        "g (int64[B] input_ids) => (float[B] logits) { logits = Cast <to = 1> (input_ids) }",
        "present",
    ),
    "no ids": (named(DECODER, input_ids="tokens"), "'tokens'"),
    "no logits": (named(DECODER, logits="scores"), "'logits'"),
    "another input": (DECODER.replace("attention_mask", "encoder_mask"), "'encoder_mask'"),
    "a gap": (re.sub(r"(past_key_values|present)__1", r"\1__2", DECODER), "layers"),
    "no number": (
        """g (int64[B,S] input_ids, float[B] past__a) => (float[B,S] logits, float[B] present__a) {
          logits = Cast <to = 1> (input_ids)  present__a = Relu (past__a)
        }""",
        "no number of a layer",
    ),
    "two that are no keys": (
        """g (int64[B,S] input_ids, float[B] past__0__a, float[B] past__0__b)
          => (float[B,S] logits, float[B] present__0__a, float[B] present__0__b) {
          logits = Cast <to = 1> (input_ids)  present__0__a = Relu (past__0__a)
          present__0__b = Relu (past__0__b)
        }""",
        "which are keys",
    ),
}


def test_what_is_no_decoder(tool, folder):
    npu = profile(folder, "Relu")
    for name, (text, *parts) in NONE.items():
        source = model_of(folder, parsed(text))
        done = tool(source, "-O0", "--devices", npu, "-o", folder / "m.onnx", "--emit", FORM)
        refused(done, INPUT, "no decoder", *parts)
        expect({p.name for p in folder.iterdir()} == {"in.onnx", "npu.json"}, name, list(folder.iterdir()))


def test_refused(tool, folder):
    source, npu = model_of(folder, parsed(DECODER)), profile(folder, "Relu")
    words = ("--devices", npu, "-o", folder / "m.onnx")
    refused(tool(source, *words, "--emit", FORM, "--parts", "never"), USAGE, "genai", "--parts never")
    (folder / "m.genai").mkdir()
    (folder / "m.genai/graphopt.json").write_text('{"format": "graphopt.export", "form": "triton"}')
    refused(tool(source, *words, "--emit", FORM), OUTPUT, "m.genai", "--force")
    done = tool(source, *words, "--emit", FORM, "--force")
    expect(done.returncode == 0, done.stderr)
    done = tool(source, *words)
    expect(done.returncode == 0 and not (folder / "m.genai").exists(), done.stderr)


if __name__ == "__main__":
    sys.exit(main(globals()))
