import { join } from "node:path";
import { expect, test } from "vitest";
import { runKilled } from "../../src/demo/killed-job.ts";
import { chooseModel, loadModels } from "../../src/demo/model-choice.ts";
import { openStore } from "../../src/store/open-store.ts";
import { PATIENCE } from "../patience.ts";
import { ENVIRONMENT, jobFolder, testOutside } from "./demo-fixture.ts";
import { responsesServer } from "./responses-server.ts";

test("a key chooses its provider, and without one the script is used", () => {
  expect(chooseModel({})).toEqual({ provider: "scripted" });
  expect(chooseModel({ OPENAI_API_KEY: "", ANTHROPIC_API_KEY: "" })).toEqual({ provider: "scripted" });
  expect(chooseModel({ OPENAI_API_KEY: "k" })).toMatchObject({ provider: "openai", key: "OPENAI_API_KEY" });
  expect(chooseModel({ ANTHROPIC_API_KEY: "k", PAWL_DEMO_MODEL: "claude-x" })).toEqual({
    provider: "anthropic",
    modelId: "claude-x",
    key: "ANTHROPIC_API_KEY",
  });
});

test.for([
  { environment: { OPENAI_API_KEY: "k" }, provider: "openai" },
  { environment: { ANTHROPIC_API_KEY: "k" }, provider: "anthropic" },
])("the model of $provider is loaded from its own package", async ({ environment, provider }) => {
  const { planner, crawler, writer } = await loadModels(environment);
  expect(planner.provider).toContain(provider);
  expect(new Set([planner, crawler, writer]).size).toBe(1);
});

test(
  "with a key and a base URL in the environment the job is done by that provider's model",
  PATIENCE,
  async () => {
    const [outside, provider] = [await testOutside(), await responsesServer()];
    const folder = jobFolder(outside);
    const environment = {
      ...ENVIRONMENT,
      OPENAI_API_KEY: "test-key",
      OPENAI_BASE_URL: provider.url,
      PAWL_DEMO_MODEL: "gpt-test",
    };
    // Killed once, so that a model of the same name continues what the first one started.
    const kills = [{ kind: "point", phase: "crawl", nth: 30 }] as const;
    const lives = await runKilled({ folder, outside, kills, environment, patienceMs: 30_000 });
    expect(lives).toHaveLength(2);
    expect(new Set(provider.asked)).toEqual(new Set(["gpt-test"]));
    expect(provider.keys).toEqual(new Set(["Bearer test-key"]));
    expect(outside.mail.accepted).toHaveLength(1);
    const store = await openStore(`file:${join(folder, "pawl.db")}`);
    const turns = await store.listTurns("clockwork");
    await store.close();
    expect(provider.asked.length).toBeGreaterThanOrEqual(turns.length);
  },
);
