/** What of the page follows its server, as long as somebody may look. */
export interface Follower {
  rest(): void;
  resume(): void;
}

/** Of all hidden tabs one goes on following, so that its history has no gap: the one with this lock. */
const LOCK = "hangar-hidden-follower";

/**
 * Lets a hidden page give its stream back: a browser opens only a few connections to one server, and tabs that nobody
 * looks at would use them up. Ends when the returned function is called.
 */
export function attend(
  follower: Follower,
  page: Pick<Document, "hidden" | "addEventListener" | "removeEventListener">,
  locks: Pick<LockManager, "request"> | undefined,
): () => void {
  let giveBack: (() => void) | null = null;

  function look(): void {
    giveBack?.();
    giveBack = null;
    if (!page.hidden) follower.resume();
    else if (locks === undefined) follower.rest();
    else void locks.request(LOCK, { ifAvailable: true }, goOnOrRest).catch(() => follower.rest());
  }

  function goOnOrRest(lock: Lock | null): Promise<void> | undefined {
    // It may have been shown meanwhile.
    if (!page.hidden) return undefined;
    if (lock !== null) return new Promise((resolve) => (giveBack = resolve));
    follower.rest();
    return undefined;
  }

  page.addEventListener("visibilitychange", look);
  if (page.hidden) look();
  return () => {
    page.removeEventListener("visibilitychange", look);
    giveBack?.();
  };
}
