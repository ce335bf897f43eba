/** The tabs there are. */
export const TABS = [
  { id: "overview", name: "Overview" },
  { id: "test", name: "Test" },
] as const;

/** One of the tabs. */
export type TabId = (typeof TABS)[number]["id"];

/** Where the chosen tab is remembered; the page uses its address, the tests a script. */
export interface Memo {
  read(): string;
  write(hash: string): void;
}

/** Which tab is chosen. */
export class Tabs {
  chosen = $state<TabId>("overview");
  #memo: Memo;

  constructor(memo: Memo) {
    this.#memo = memo;
    this.recall();
  }

  /** Chooses what the memo says; the first tab where it names none. */
  recall(): void {
    const id = this.#memo.read().replace(/^#/, "");
    this.chosen = TABS.find((tab) => tab.id === id)?.id ?? "overview";
  }

  /** Chooses a tab and remembers it. */
  choose(id: TabId): void {
    this.chosen = id;
    this.#memo.write(`#${id}`);
  }

  /** What a key on the tab list chooses; null for other keys. */
  byArrow(key: string): TabId | null {
    const at = TABS.findIndex((tab) => tab.id === this.chosen);
    const places: Record<string, number> = {
      ArrowRight: (at + 1) % TABS.length,
      ArrowLeft: (at + TABS.length - 1) % TABS.length,
      Home: 0,
      End: TABS.length - 1,
    };
    const place = places[key];
    return place === undefined ? null : (TABS[place]?.id ?? null);
  }
}

/** The part of a key press that a shortcut is made of. */
export interface Press {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  altKey: boolean;
}

/** The tab that Ctrl or Command with a digit means. */
export function tabByShortcut(press: Press): TabId | null {
  if (!(press.ctrlKey || press.metaKey) || press.shiftKey || press.altKey) return null;
  return /^[1-9]$/.test(press.key) ? (TABS[Number(press.key) - 1]?.id ?? null) : null;
}

/** Whether a press copies the address: Ctrl or Command with Shift and L. */
export function isCopyShortcut(press: Press): boolean {
  return (
    (press.ctrlKey || press.metaKey) && press.shiftKey && !press.altKey && press.key.toLowerCase() === "l"
  );
}
