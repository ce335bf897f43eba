// Copies of the built-in model with something changed.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const POCKET = join(import.meta.dirname, "../../worker/pocket/model");
// The end of the whole text, which the model never writes; the end of a turn is left out.
const NEVER_WRITTEN = 1;

/** A copy that goes away with the test. */
export function modelCopy(t) {
  const folder = mkdtempSync(join(tmpdir(), "hangar-model-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const model = join(folder, "model");
  cpSync(POCKET, model, { recursive: true });
  return model;
}

/** More tokens than a model writes while anybody waits for something else. */
export const ENDLESS_TOKENS = 30_000;

/** Settings for a model that answers as the built-in one, and then does not find an end. */
export function endless(t, id) {
  const model = modelCopy(t);
  for (const name of ["config.json", "generation_config.json"]) {
    const file = join(model, name);
    const config = JSON.parse(readFileSync(file, "utf8"));
    writeFileSync(file, JSON.stringify({ ...config, eos_token_id: [NEVER_WRITTEN] }));
  }
  return serving(model, { ...(id === undefined ? {} : { id }), maxOutputTokens: ENDLESS_TOKENS });
}

/** Settings that serve a model's folder. */
export const serving = (path, more = {}) => ({
  model: { id: "mine", path, sampling: { temperature: 0 }, ...more },
});
