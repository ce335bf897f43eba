import type { MemoryView } from "./generated/panel.js";

/** A use of memory that the page tells apart. */
export type Use = "server" | "in_use" | "kept" | "other";

/** One use with its size. */
export interface Part {
  use: Use;
  bytes: number;
}

/** Memory taken apart. */
export interface Split {
  parts: Part[];
  /** Sum of the parts; null when nothing is known. */
  totalBytes: number | null;
  /** True when a process runs whose memory is not known. */
  atLeast: boolean;
}

/** Takes memory apart; what is not known is left out, never taken for zero. */
export function splitMemory(memory: MemoryView, workerRuns: boolean): Split {
  const { server_bytes: server, active_bytes: active, cache_bytes: cache } = memory;
  const worker = workerBytes(memory);
  const other = worker === null ? null : worker - (active ?? 0) - (cache ?? 0);
  const sizes: [Use, number | null][] = [
    ["server", server],
    ["in_use", active],
    ["kept", cache],
    ["other", other],
  ];
  const parts = sizes.flatMap(([use, bytes]) => (bytes !== null && bytes > 0 ? [{ use, bytes }] : []));
  const known = server !== null || worker !== null;
  return {
    parts,
    totalBytes: known ? (server ?? 0) + (worker ?? 0) : null,
    atLeast: known && (server === null || (workerRuns && memory.worker_bytes === null)),
  };
}

/**
 * The worker's memory: its process, or its arrays where they are more, because memory of a GPU
 * may not be counted with the process.
 */
export function workerBytes({ worker_bytes, active_bytes, cache_bytes }: MemoryView): number | null {
  const arrays =
    active_bytes === null && cache_bytes === null ? null : (active_bytes ?? 0) + (cache_bytes ?? 0);
  if (worker_bytes === null) return arrays;
  return Math.max(worker_bytes, arrays ?? 0);
}
