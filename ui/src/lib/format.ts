const MEGABYTE = 1024 ** 2;
const GIGABYTE = 1024 ** 3;

/** Memory in binary units, labelled as Activity Monitor labels them; null is not known. */
export function memoryText(bytes: number | null): string {
  if (bytes === null) return "not known";
  // What would round to 1000 MB is said in GB already.
  if (bytes >= 999.5 * MEGABYTE) return `${(bytes / GIGABYTE).toFixed(bytes < 10 * GIGABYTE ? 2 : 1)} GB`;
  const megabytes = bytes / MEGABYTE;
  return `${megabytes.toFixed(megabytes < 99.95 ? 1 : 0)} MB`;
}

/** A stretch of time as a person says it. */
export function timeText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

/** A short stretch of time, measured. */
export function measuredText(ms: number): string {
  if (ms < 1) return "under 1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(2)} s` : timeText(ms);
}

/** A count with its thousands set apart. */
export function countText(count: number): string {
  return count.toLocaleString("en");
}

/** A number of parameters as models are called by it. */
export function parametersText(parameters: number): string {
  if (parameters >= 1e9) return `${(parameters / 1e9).toFixed(1)} billion`;
  if (parameters >= 1e6) return `${(parameters / 1e6).toFixed(1)} million`;
  return countText(parameters);
}

/** A lower-case fragment as a sentence. */
export function sentence(fragment: string): string {
  const text = fragment.trim();
  if (text === "") return "";
  const ended = /[.!?…]$/.test(text) ? text : `${text}.`;
  return ended.charAt(0).toUpperCase() + ended.slice(1);
}
