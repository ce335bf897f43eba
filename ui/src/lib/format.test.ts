import { describe, expect, it } from "vitest";
import { measuredText, memoryText, parametersText, sentence, timeText } from "./format.js";

const MB = 1024 ** 2;

describe("figures in words", () => {
  it("says_memory_in_binary_units", () => {
    const words = [
      null,
      0,
      256 * 1024,
      38.5 * MB,
      99.96 * MB,
      412 * MB,
      999.6 * MB,
      1024 * MB,
      21.3 * 1024 * MB,
    ];
    expect(words.map(memoryText)).toEqual([
      "not known",
      "0.0 MB",
      "0.3 MB",
      "38.5 MB",
      "100 MB",
      "412 MB",
      "0.98 GB",
      "1.00 GB",
      "21.3 GB",
    ]);
  });

  it("says_time_as_a_person_does", () => {
    const words = [-5, 999, 12_000, 60_000, 125_000, 3_600_000, 90_000_000, 200_000_000];
    expect(words.map(timeText)).toEqual([
      "0 s",
      "0 s",
      "12 s",
      "1 min",
      "2 min 5 s",
      "1 h 0 min",
      "25 h 0 min",
      "2 days",
    ]);
    expect([0.2, 21.4, 999.4, 1234, 61_000].map(measuredText)).toEqual([
      "under 1 ms",
      "21 ms",
      "999 ms",
      "1.23 s",
      "1 min 1 s",
    ]);
  });

  it("says_parameters_and_sentences", () => {
    expect([512, 1_345_000, 25.2e9].map(parametersText)).toEqual(["512", "1.3 million", "25.2 billion"]);
    expect(sentence("the worker ended early")).toBe("The worker ended early.");
    expect(sentence("why?")).toBe("Why?");
    expect(sentence("")).toBe("");
  });
});
