// Fuzzes Gemma's markup, the reading of chat requests and of media: node .ci/more/fuzz.mjs [seconds a target, 60] [target…]; `--keep` writes the minimised corpus back.
//
// libFuzzer is built on the pinned stable compiler with coverage counters only: the room has no unsafe code, so that a
// sanitizer would find nothing, and no nightly compiler is needed.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CACHE, inClone } from "../setup/places.mjs";

const ROOM = inClone("src-tauri/crates/gemma/fuzz");
const TARGETS = ["markup", "segments", "schemas", "requests", "data_urls", "waves"];
// Longer inputs find little that is new, and would be most of the corpus.
const KEPT_BYTES = 512;
const COVERAGE = [
  "-Cpasses=sancov-module",
  "-Cllvm-args=-sanitizer-coverage-level=4",
  "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
  "-Cllvm-args=-sanitizer-coverage-pc-table",
  "-Cllvm-args=-sanitizer-coverage-trace-compares",
  "--cfg=fuzzing",
];
const MARKERS = [
  "<bos>",
  "<eos>",
  "<|turn>",
  "<turn|>",
  "<|tool_call>",
  "<tool_call|>",
  "<|tool_response>",
  '<|\\"|>',
  "<|channel>",
  "<channel|>",
  "call:f{",
  "thought\\x0a",
  "final\\x0a",
  '\\"$ref\\":\\"#',
  '\\"anyOf\\":[',
  '\\"properties\\":{',
  '\\"type\\":\\"',
  '{\\"messages\\":[{\\"role\\":\\"user\\",\\"content\\":',
  '\\"role\\":\\"assistant\\"',
  '\\"role\\":\\"tool\\",\\"tool_call_id\\":',
  '\\"tool_calls\\":[{\\"id\\":',
  '\\"function\\":{\\"name\\":',
  '\\"arguments\\":',
  '\\"parameters\\":{',
  '\\"tools\\":[',
  '\\"tool_choice\\":',
  '\\"response_format\\":{\\"type\\":\\"json_schema\\",\\"json_schema\\":{\\"schema\\":',
  '\\"stop\\":[',
  '\\"seed\\":',
  '\\"temperature\\":',
  "\\\\ud800",
];

const words = process.argv.slice(2);
const keeps = words.includes("--keep");
const [seconds = "60", ...named] = words.filter((word) => word !== "--keep");
const folder = join(CACHE, "fuzz");
const triple = run("rustc", ["-vV"], {}).match(/^host: (.+)$/m)[1];
build();
for (const target of named.length > 0 ? named : TARGETS) {
  fuzz(target);
}

function build() {
  const manifest = ["--manifest-path", join(ROOM, "Cargo.toml"), "--target-dir", folder];
  // With a target named, build scripts are left without counters.
  const env = { RUSTFLAGS: COVERAGE.join(" "), RUSTC_WORKSPACE_WRAPPER: "" };
  run("cargo", ["build", "--release", "--locked", "--target", triple, ...manifest], env);
}

function fuzz(target) {
  const binary = join(folder, triple, "release", target);
  const kept = inClone("src-tauri/crates/gemma/fuzz/corpus", `${target}.jsonl`);
  const corpus = fresh(`${target}-corpus`);
  for (const line of readFileSync(kept, "utf8").trimEnd().split("\n")) {
    const bytes = Buffer.from(JSON.parse(line), "latin1");
    writeFileSync(join(corpus, createHash("sha256").update(bytes).digest("hex")), bytes);
  }
  const dictionary = join(folder, "markers.dict");
  writeFileSync(dictionary, MARKERS.map((marker) => `"${marker}"\n`).join(""));
  const found = fresh(`${target}-found`);
  const limits = [`-max_total_time=${seconds}`, "-max_len=2048", "-timeout=10", "-rss_limit_mb=2048"];
  const told = run(
    binary,
    [corpus, ...limits, `-dict=${dictionary}`, `-artifact_prefix=${found}/`, "-print_final_stats=1"],
    {},
  );
  const executions = told.match(/number_of_executed_units: +(\d+)/)[1];
  console.log(`${target}: ${executions} executions in ${seconds} s, no finding`);
  if (keeps) {
    const small = fresh(`${target}-small`);
    run(binary, ["-merge=1", small, corpus], {});
    const found = readdirSync(small).map((name) => readFileSync(join(small, name)));
    const inputs = found.filter((bytes) => bytes.length <= KEPT_BYTES);
    inputs.sort((left, right) => left.length - right.length || Buffer.compare(left, right));
    writeFileSync(kept, inputs.map((bytes) => `${JSON.stringify(bytes.toString("latin1"))}\n`).join(""));
    console.log(`${target}: ${inputs.length} inputs kept`);
  }
}

function fresh(name) {
  const path = join(folder, name);
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true });
  return path;
}

/** Runs a command to its end and gives what it printed, or ends with that and its status. */
function run(command, given, env) {
  const ended = spawnSync(command, given, {
    env: { ...process.env, ...env },
    encoding: "utf8",
    maxBuffer: 1 << 28,
    cwd: inClone("."),
  });
  const told = `${ended.stdout ?? ""}${ended.stderr ?? ""}`;
  if (ended.status !== 0) {
    console.error(told.slice(-8000), ended.error ?? "");
    process.exit(1);
  }
  return told;
}
