import { describe, expect, it } from "vitest";
import { Commands } from "./commands.svelte.js";

function answering(...answers: (Response | Error)[]) {
  const asked: string[] = [];
  const commands = new Commands((path, init) => {
    asked.push(`${String(path)} ${String(init?.body)}`);
    const answer = answers.shift() ?? new Response("{}");
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  });
  return { commands, asked };
}

describe("commands", () => {
  it("asks_the_route_of_each_command", async () => {
    const { commands, asked } = answering();
    for (const command of ["start", "stop", "load", "unload", "unload_now"] as const) {
      expect(await commands.run(command)).toBe(true);
    }
    expect(asked).toEqual([
      "/admin/service/start {}",
      "/admin/service/stop {}",
      "/admin/worker/restart {}",
      "/admin/worker/unload {}",
      '/admin/worker/unload {"force":true}',
    ]);
  });

  it("has_one_command_under_way_and_says_which", async () => {
    const { commands, asked } = answering();
    const first = commands.run("stop");
    expect(commands.running).toBe("stop");
    expect(await commands.run("start")).toBe(false);
    await first;
    expect([commands.running, asked.length]).toEqual([null, 1]);
  });

  it("waits_no_longer_when_it_is_told_that_nobody_answers", async () => {
    const commands = new Commands(
      (_path, init) =>
        new Promise((_resolve, reject) => init?.signal?.addEventListener("abort", () => reject(new Error()))),
    );
    const asked = commands.run("stop");
    commands.giveUp();
    expect(await asked).toBe(false);
    expect(commands.running).toBeNull();
  });

  it("says_in_words_what_went_wrong_until_the_next_command", async () => {
    const busy = new Response('{"error":{"type":"worker_busy","message":"busy","retryable":true}}', {
      status: 409,
    });
    const { commands } = answering(busy, new TypeError("refused"));
    expect(await commands.run("unload")).toBe(false);
    expect(commands.trouble?.happened).toContain("busy");
    expect(await commands.run("unload")).toBe(false);
    expect(commands.trouble?.happened).toContain("not reached");
    await commands.run("unload");
    expect(commands.trouble).toBeNull();
  });
});
