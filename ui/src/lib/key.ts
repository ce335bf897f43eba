/** The server wants a key that the page does not have, or has another one. */
export class KeyWanted extends Error {
  constructor() {
    super("the server wants a key");
  }
}

/** What the page keeps the key in: forgotten with the tab, and kept apart from every other port. */
export type KeyStore = Pick<Storage, "getItem" | "setItem" | "removeItem">;

const NAME = "hangar.key";

/** The key a person typed, and requests that show it. */
export class Key {
  #store: KeyStore;

  constructor(store: KeyStore) {
    this.#store = store;
  }

  /** Keeps what was typed; nothing forgets it. */
  use(typed: string): void {
    const key = typed.trim();
    if (key === "") this.#store.removeItem(NAME);
    else this.#store.setItem(NAME, key);
  }

  /** `fetch` that shows the key, if there is one. */
  send: typeof fetch = (path, init) => {
    const key = this.#store.getItem(NAME);
    if (key === null) return fetch(path, init);
    const headers = new Headers(init?.headers);
    headers.set("authorization", `Bearer ${key}`);
    return fetch(path, { ...init, headers });
  };
}

/** Whether an answer is the refusal of a caller without the right key. */
export async function wantsKey(response: Response): Promise<boolean> {
  if (response.status !== 403) return false;
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => null);
  if (typeof body !== "object" || body === null || !("error" in body)) return false;
  const error: unknown = body.error;
  return typeof error === "object" && error !== null && "param" in error && error.param === "Authorization";
}
