import { describe, expect, it } from "vitest";
import { attend } from "./attention.js";

class Page extends EventTarget {
  hidden = false;
  turn(hidden: boolean) {
    this.hidden = hidden;
    this.dispatchEvent(new Event("visibilitychange"));
  }
}

/** One lock for all, as a browser keeps it. */
class Locks {
  held = false;
  async request(_name: string, _options: LockOptions, act: (lock: Lock | null) => unknown) {
    await Promise.resolve();
    if (this.held) return act(null);
    this.held = true;
    await act({} as Lock);
    this.held = false;
    return undefined;
  }
}

function tab(locks: Locks | undefined) {
  const page = new Page();
  const said: string[] = [];
  const follower = { rest: () => said.push("rest"), resume: () => said.push("resume") };
  const leave = attend(follower, page as unknown as Document, locks as unknown as LockManager);
  return { page, said, leave };
}
const settle = () => new Promise((resolve) => setTimeout(resolve));

describe("attention", () => {
  it("lets_one_hidden_tab_go_on_and_the_others_rest", async () => {
    const locks = new Locks();
    const [first, second, third] = [tab(locks), tab(locks), tab(locks)];
    for (const { page } of [first, second, third]) page.turn(true);
    await settle();
    expect([first.said, second.said, third.said]).toEqual([[], ["rest"], ["rest"]]);
    second.page.turn(false);
    expect(second.said).toEqual(["rest", "resume"]);
  });

  it("gives_the_place_back_when_it_is_shown_or_left", async () => {
    const locks = new Locks();
    const first = tab(locks);
    first.page.turn(true);
    await settle();
    expect(locks.held).toBe(true);
    first.page.turn(false);
    await settle();
    expect(locks.held).toBe(false);
    first.page.turn(true);
    await settle();
    first.leave();
    await settle();
    expect(locks.held).toBe(false);
  });

  it("does_not_rest_when_it_is_shown_before_the_answer", async () => {
    const locks = new Locks();
    locks.held = true;
    const { page, said } = tab(locks);
    page.turn(true);
    page.turn(false);
    await settle();
    expect(said).toEqual(["resume"]);
  });

  it("rests_where_there_are_no_locks", () => {
    const { page, said } = tab(undefined);
    page.turn(true);
    expect(said).toEqual(["rest"]);
  });
});
