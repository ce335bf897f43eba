import type { MemoryView } from "./generated/panel.js";
import { workerBytes } from "./memory.js";

/** Memory in one slot of time; null where it was not known. */
export interface Sample {
  slot: number;
  serverBytes: number | null;
  workerBytes: number | null;
}

/** Width of a slot. */
export const SLOT_MS = 5000;
/** How many slots are kept: ten minutes. */
export const SLOTS = 120;

/** Memory of the last ten minutes, as long as the page is open. */
export class MemoryHistory {
  samples = $state.raw<Sample[]>([]);

  /** Notes what is so now; of several values in one slot the largest stays, so that a short peak is seen. */
  note(nowMs: number, memory: MemoryView | null): void {
    const slot = Math.floor(nowMs / SLOT_MS);
    const sample: Sample = {
      slot,
      serverBytes: memory?.server_bytes ?? null,
      workerBytes: memory === null ? null : workerBytes(memory),
    };
    const last = this.samples.at(-1);
    if (last === undefined && memory === null) return;
    if (last?.slot === slot) {
      if (sum(sample) > sum(last)) this.samples = [...this.samples.slice(0, -1), sample];
      return;
    }
    this.samples = [...this.samples.filter((kept) => kept.slot > slot - SLOTS), sample];
  }
}

/** Both processes of a sample; what is not known adds nothing. */
export function sum(sample: Sample): number {
  return (sample.serverBytes ?? 0) + (sample.workerBytes ?? 0);
}

/** The largest sum, 0 without samples. */
export function peak(samples: readonly Sample[]): number {
  return samples.reduce((most, sample) => Math.max(most, sum(sample)), 0);
}

/**
 * An area from `low` to `high` over the slots, as the `d` of an SVG path in a box of SLOTS - 1 by 100, with
 * a gap where nothing is known. The newest sample is at the right edge.
 */
export function areaPath(
  samples: readonly Sample[],
  topBytes: number,
  low: (sample: Sample) => number,
  high: (sample: Sample) => number | null,
): string {
  const newest = samples.at(-1)?.slot ?? 0;
  const x = (sample: Sample) => SLOTS - 1 - (newest - sample.slot);
  const y = (bytes: number) => Math.round((1 - bytes / topBytes) * 10_000) / 100;
  return runs(samples, high)
    .map((run) => {
      const over = run.map((sample) => `${x(sample)} ${y(high(sample) ?? 0)}`);
      const under = run.toReversed().map((sample) => `${x(sample)} ${y(low(sample))}`);
      return `M${[...over, ...under].join("L")}Z`;
    })
    .join("");
}

/** A round figure at or above `bytes`: 1, 1.5, 2, 3, 4 or 6 times a power of two, never under 64 MB. */
export function roundUp(bytes: number): number {
  let unit = 64 * 1024 ** 2;
  while (unit * 8 <= bytes) unit *= 8;
  return [1, 1.5, 2, 3, 4, 6, 8].map((times) => times * unit).find((top) => top >= bytes) ?? unit * 8;
}

/** Stretches without a gap; a stretch of one slot is as wide as a slot. */
function runs(samples: readonly Sample[], high: (sample: Sample) => number | null): Sample[][] {
  const found: Sample[][] = [];
  let previous = -Infinity;
  for (const sample of samples) {
    if (high(sample) === null) continue;
    if (sample.slot === previous + 1) found.at(-1)?.push(sample);
    else found.push([{ ...sample, slot: sample.slot - 1 }, sample]);
    previous = sample.slot;
  }
  return found;
}
