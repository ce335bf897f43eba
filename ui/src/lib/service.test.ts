import { describe, expect, it } from "vitest";
import { ServiceState, type ServiceSource } from "./service.svelte.js";

class Script implements ServiceSource {
  now = 1000;
  state = "unloaded";
  up = true;
  asked: string[] = [];
  nowMs(): number {
    return this.now;
  }
  async getJson(path: string): Promise<unknown> {
    this.asked.push(path);
    await Promise.resolve();
    if (!this.up) throw new TypeError("refused");
    if (path === "/v1/models") return { data: [{ id: "a" }, { id: "b", context_window: 64 }] };
    return { accepting_requests: true, worker: { state: this.state, model_id: "b" } };
  }
}

describe("service state", () => {
  it("says_connecting_before_the_first_answer", () => {
    const service = new ServiceState(new Script());
    expect(service.condition.word).toBe("Connecting…");
    expect(service.age).toBeNull();
  });

  it("keeps_the_last_values_with_their_age_when_the_server_is_lost", async () => {
    const script = new Script();
    script.state = "ready";
    const service = new ServiceState(script);
    await service.poll();
    script.up = false;
    script.now += 7000;
    await service.poll();
    expect(service.lost).toBe(true);
    expect(service.condition.word).toBe("Ready");
    expect(service.age).toBe("7 s");
    script.up = true;
    await service.poll();
    expect(service.lost).toBe(false);
  });

  it("says_not_reached_when_the_server_never_answered", async () => {
    const script = new Script();
    script.up = false;
    const service = new ServiceState(script);
    await service.poll();
    expect(service.condition.word).toBe("Server not reached");
  });

  it("counts_loading_time_from_when_the_state_began", async () => {
    const script = new Script();
    script.state = "loading";
    const service = new ServiceState(script);
    await service.poll();
    script.now += 5000;
    await service.poll();
    script.now += 2000;
    service.tick();
    expect(service.condition).toMatchObject({ word: "Loading model…", elapsedS: 7 });
  });

  it("prefers_the_model_the_worker_names", async () => {
    const service = new ServiceState(new Script());
    await service.poll();
    expect(service.defaultModel).toEqual({ id: "b", contextTokens: 64 });
  });

  it("asks_for_the_models_again_only_after_the_server_was_lost", async () => {
    const script = new Script();
    const service = new ServiceState(script);
    await service.poll();
    await service.poll();
    expect(script.asked.filter((path) => path === "/v1/models")).toHaveLength(1);
    script.up = false;
    await service.poll();
    script.up = true;
    await service.poll();
    expect(script.asked.filter((path) => path === "/v1/models")).toHaveLength(2);
  });

  it("does_not_ask_twice_at_once", async () => {
    const script = new Script();
    const service = new ServiceState(script);
    await Promise.all([service.poll(), service.poll()]);
    expect(script.asked).toEqual(["/ready", "/v1/models"]);
  });
});
