// Secrets in a job: not in its contract, and not in what its steps pass on.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { withoutDigests } from "../../../src/core/secret/secret-mark.ts";
import {
  ConfigurationError,
  type Json,
  Pipeline,
  type RunSpecInput,
  Step,
  secret,
  tool,
} from "../../../src/index.ts";
import { crashAt } from "../call/call-fixture.ts";
import { jobRunner, jobSpec } from "../job-fixture.ts";
import { failureAs, failureOf, memoryStore } from "../run-fixture.ts";
import { leaksIn, SECRET, storeToSearch } from "../secret-fixture.ts";

const signIn = tool({
  name: "sign_in",
  description: "Signs in.",
  inputSchema: z.object({ key: z.string() }),
  effect: "read_only",
  execute: () => "signed in",
});

describe("a contract with a value under a secret key", () => {
  const policy = { secretKeys: ["password"] };

  it.each<[string, RunSpecInput]>([
    ["in its input", { objective: "Sign in.", input: { password: SECRET } }],
    ["deep in its input", { objective: "Sign in.", input: { users: [{ login: { password: SECRET } }] } }],
    ["in its objective", { objective: JSON.stringify({ password: SECRET }) }],
  ])("%s is refused before the run is created, and nothing of it is stored", async (_where, spec) => {
    const { store, dump } = await storeToSearch();
    const runner = jobRunner(
      Step.run("a", () => 1),
      store,
      { policy },
    );
    // Something is stored, so that the search sees something.
    await runner.run("Go", { runId: "r-0" });
    const error = await failureAs(ConfigurationError, runner.run("Go", { runId: "r-1", spec }));
    expect(error.message).toMatch(/^The RunSpec of the run holds a value under one of policy\.secretKeys/);
    expect(leaksIn(error.message)).toEqual([]);
    expect(await store.getRun("r-1")).toBeNull();
    expect(leaksIn(dump())).toEqual([]);
  });

  it("is accepted if the policy names other keys", async () => {
    const store = await memoryStore();
    const runner = jobRunner(
      Step.run("a", () => 1),
      store,
      { policy: { secretKeys: ["token"] } },
    );
    const spec = { objective: "Sign in.", input: { password: "public" } };
    expect((await runner.run("Go", { runId: "r-1", spec })).status).toBe("succeeded");
  });
});

describe("a step that passes a secret on", () => {
  /** The first step leaves the secret in its output and in the context; the second gets both. */
  async function passing() {
    const { store, dump } = await storeToSearch();
    const seen: Json[] = [];
    const pipeline = Pipeline.of(
      "p",
      Step.run("link", async (_input, ctx) => {
        await ctx.call(signIn, { key: secret(SECRET) });
        ctx.context.header = { authorization: `Bearer ${SECRET}` };
        return { link: `https://example.com/${SECRET}`, at: 1 };
      }),
      Step.run("use", (input: Json, ctx) => {
        seen.push({ input, context: { ...ctx.context } as Json });
        return "used";
      }),
    );
    return { store, dump, seen, pipeline };
  }

  it("passes the same value on live and after a resume, and it is nowhere in the store", async () => {
    const live = await passing();
    await jobRunner(live.pipeline, live.store).run("Go", { runId: "r-1", spec: jobSpec() });
    const later = await passing();
    const dying = jobRunner(later.pipeline, later.store, { probe: crashAt("step:finished") });
    await failureOf(dying.run("Go", { runId: "r-1", spec: jobSpec() }));
    expect(later.seen).toEqual([]);
    await jobRunner(later.pipeline, later.store).resume("r-1");

    expect(withoutDigests(live.seen)).toEqual([
      {
        input: { link: "https://example.com/[secret]", at: 1 },
        context: { header: { authorization: "Bearer [secret]" } },
      },
    ]);
    expect(withoutDigests(later.seen)).toEqual(withoutDigests(live.seen));
    for (const { store, dump } of [live, later]) {
      expect(withoutDigests((await store.findStep("r-1", "link"))?.output ?? null)).toEqual({
        link: "https://example.com/[secret]",
        at: 1,
      });
      expect(leaksIn(dump())).toEqual([]);
    }
  });

  it("asks a person once, even if the question contains its output", async () => {
    const { store, dump } = await storeToSearch();
    const pipeline = Pipeline.of(
      "p",
      Step.run("link", async (_input, ctx) => {
        await ctx.call(signIn, { key: secret(SECRET) });
        return `the link ${SECRET}`;
      }),
      Step.human("check", { question: (link: string) => `Send ${link}?` }),
    );
    const { waits } = await jobRunner(pipeline, store).run("Go", { runId: "r-1" });
    expect(waits[0]?.question).toMatch(/^Send the link \[secret:[0-9a-f]{12}\]\?$/);
    await store.answer("r-1~1", "yes");
    expect((await jobRunner(pipeline, store).resume("r-1")).output).toBe("yes");
    expect(leaksIn(dump())).toEqual([]);
  });
});
