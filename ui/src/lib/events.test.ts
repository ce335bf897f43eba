import { describe, expect, it } from "vitest";
import { NotThisServer, openEvents, readSnapshot, type Heard } from "./events.js";
import { snapshotWith } from "./snapshot.fixture.js";

const EVENTS = { "content-type": "text/event-stream" };

async function hear(response: Response): Promise<Heard[]> {
  const heard: Heard[] = [];
  const stream = openEvents(new AbortController().signal, () => Promise.resolve(response));
  for await (const one of stream) heard.push(one);
  return heard;
}

describe("events of the panel", () => {
  it("brings_snapshots_and_signs_of_life_and_passes_over_other_events", async () => {
    const snapshot = snapshotWith();
    const body = `event: snapshot\ndata: ${JSON.stringify(snapshot)}\n\n: still here\n\nevent: later\ndata: {}\n\n`;
    const heard = await hear(new Response(body, { headers: EVENTS }));
    expect(heard).toEqual([{ kind: "alive" }, { kind: "snapshot", snapshot }]);
  });

  it("knows_by_what_answers_that_it_is_not_this_server", async () => {
    const strangers = [
      new Response("<html>", { headers: { "content-type": "text/html" } }),
      new Response("", { status: 404, headers: EVENTS }),
      new Response("event: snapshot\ndata: hello\n\n", { headers: EVENTS }),
    ];
    for (const stranger of strangers) await expect(hear(stranger)).rejects.toBeInstanceOf(NotThisServer);
  });

  it("takes_no_snapshot_that_lacks_a_part_or_names_an_unknown_state", () => {
    const whole = snapshotWith();
    expect(readSnapshot(JSON.stringify(whole))).toEqual(whole);
    const { memory, ...rest } = whole;
    expect(memory).toBeDefined();
    for (const wrong of [
      "null",
      "7",
      "[]",
      JSON.stringify(rest),
      JSON.stringify(whole).replace('"ready"', '"odd"'),
    ]) {
      expect(() => readSnapshot(wrong)).toThrow(NotThisServer);
    }
  });
});
