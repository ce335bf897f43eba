import { expect, test } from "vitest";
import type { ServedView } from "./generated/panel.js";
import { others } from "./served.js";

const served = (id: string, more: Partial<ServedView> = {}): ServedView => ({
  id,
  model_id: `model ${id}`,
  state: "unloaded",
  hindrance: null,
  waiting: 0,
  ...more,
});

test("only models beside the default one that can answer are told, with who waits for them", () => {
  const told = others([
    served("pocket", { state: "busy" }),
    served("mine", { state: "busy", waiting: 2 }),
    served("e2b"),
    served("31b", { state: "unavailable", hindrance: "its model is not on this machine" }),
  ]);
  expect(told.map(({ id, word }) => [id, word])).toEqual([
    ["mine", "Busy, 2 waiting"],
    ["e2b", "Idle"],
  ]);
});
