import { afterEach, describe, expect, it, vi } from "vitest";
import { openEvents } from "./events.js";
import { Key, KeyWanted, wantsKey, type KeyStore } from "./key.js";

function store(): KeyStore {
  const kept = new Map<string, string>();
  return {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => void kept.set(name, value),
    removeItem: (name) => void kept.delete(name),
  };
}

function refusal(param: string | null, status = 403): Response {
  return Response.json({ error: { type: "forbidden", message: "no", param, retryable: false } }, { status });
}

afterEach(() => {
  vi.unstubAllGlobals();
});

describe("key of the page", () => {
  it("is_shown_with_every_request_once_typed_and_not_before_or_after", async () => {
    const sent: (string | null)[] = [];
    vi.stubGlobal("fetch", (_path: string, init?: RequestInit) => {
      sent.push(new Headers(init?.headers).get("authorization"));
      return Promise.resolve(new Response());
    });
    const key = new Key(store());
    await key.send("/ready", { headers: { accept: "x" } });
    key.use("  a-long-key ");
    await key.send("/ready");
    key.use(" ");
    await key.send("/ready");
    expect(sent).toEqual([null, "Bearer a-long-key", null]);
  });

  it("keeps_the_other_headers_of_a_request", async () => {
    const key = new Key(store());
    key.use("a-long-key");
    let kept: string | null = null;
    vi.stubGlobal("fetch", (_path: string, init?: RequestInit) => {
      kept = new Headers(init?.headers).get("content-type");
      return Promise.resolve(new Response());
    });
    await key.send("/v1/models", { headers: { "content-type": "application/json" } });
    expect(kept).toBe("application/json");
  });

  it("is_wanted_only_where_the_server_refuses_for_it", async () => {
    expect(await wantsKey(refusal("Authorization"))).toBe(true);
    for (const other of [
      refusal("Host"),
      refusal(null),
      refusal("Authorization", 400),
      new Response("<html>", { status: 403 }),
    ]) {
      expect(await wantsKey(other)).toBe(false);
    }
  });

  it("makes_a_refused_event_stream_a_question_for_the_key", async () => {
    const events = openEvents(new AbortController().signal, () => Promise.resolve(refusal("Authorization")));
    await expect(events.next()).rejects.toBeInstanceOf(KeyWanted);
  });
});
