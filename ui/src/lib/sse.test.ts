import { describe, expect, it } from "vitest";
import { EventStreamDecoder } from "./sse.js";

const STREAM =
  'data: {"a":"héllo 🛩"}\r\n\r\n: a comment\n\ndata:one\ndata: two\n\nevent: x\ndata: [DONE]\n\ndata: last\n\n';
const EVENTS = [
  { name: "message", data: '{"a":"héllo 🛩"}' },
  { name: "message", data: "one\ntwo" },
  { name: "x", data: "[DONE]" },
  { name: "message", data: "last" },
];

describe("event stream", () => {
  it("gives_the_same_events_wherever_the_bytes_are_cut", () => {
    const bytes = new TextEncoder().encode(STREAM);
    for (let first = 0; first <= bytes.length; first++) {
      for (let second = first; second <= bytes.length; second += 3) {
        const decoder = new EventStreamDecoder();
        const parts = [bytes.slice(0, first), bytes.slice(first, second), bytes.slice(second)];
        expect(parts.flatMap((part) => decoder.push(part))).toEqual(EVENTS);
      }
    }
  });

  it("holds_back_an_event_that_is_not_complete", () => {
    const decoder = new EventStreamDecoder();
    expect(decoder.push(new TextEncoder().encode("data: half\n"))).toEqual([]);
    expect(decoder.push(new TextEncoder().encode("\n"))).toEqual([{ name: "message", data: "half" }]);
  });
});
