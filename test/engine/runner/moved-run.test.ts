// A run that was moved to another store continues there, and nowhere else.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import {
  exportBundle,
  importBundle,
  type Json,
  RunMovedError,
  RunNotBegunError,
  Runner,
  Step,
  type Store,
  secret,
  tool,
} from "../../../src/index.ts";
import { failureAs, memoryStore } from "../run-fixture.ts";

async function moved(from: Store, to: Store, runId: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "pawl-moved-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "run.bundle");
  await exportBundle(from, runId, { file, to: await to.storeId() });
  await importBundle(to, file);
}

it("reuses the receipt of a call with a secret, although the other store hides it under another key", async () => {
  const [source, target] = [await memoryStore(), await memoryStore()];
  expect(Buffer.from(source.redactionKey()).equals(target.redactionKey())).toBe(false);
  const sent: string[] = [];
  const send = tool({
    name: "send_email",
    description: "Sends a mail.",
    inputSchema: z.object({ to: z.string() }),
    execute: ({ to }) => {
      sent.push(to);
      return `sent to ${to}`;
    },
  });
  let isBroken = true;
  const step = Step.run("mail", async (_input: Json, ctx) => {
    const first = await ctx.call(send, { to: secret("alice@example.com") });
    if (isBroken) throw new Error("The power went.");
    return [first, await ctx.call(send, { to: secret("bobby@example.com") })];
  });
  const runnerIn = (store: Store) => new Runner(step, { store });
  await runnerIn(source)
    .run("Go", { runId: "r-1" })
    .catch(() => undefined);
  await moved(source, target, "r-1");
  isBroken = false;

  await failureAs(RunMovedError, runnerIn(source).resume("r-1"));
  await failureAs(RunMovedError, runnerIn(source).run("Go", { runId: "r-1" }));
  // It failed after an effect, so another run of the same input would repeat that.
  const { details } = await failureAs(RunNotBegunError, runnerIn(source).run("Go"));
  expect(details).toEqual({ why: "moved", runIds: ["r-1"] });
  const { status, output } = await runnerIn(target).resume("r-1");
  expect(status).toBe("succeeded");
  expect(sent).toEqual(["alice@example.com", "bobby@example.com"]);
  expect(JSON.stringify(output)).not.toContain("example.com");
  expect((await target.verify("r-1")).problems).toEqual([]);
});

it("a run that succeeded before it was moved is in nobody's way", async () => {
  const [source, target] = [await memoryStore(), await memoryStore()];
  const runner = new Runner(
    Step.run("add", (n: number) => n + 1),
    { store: source },
  );
  await runner.run(1, { runId: "r-1" });
  await moved(source, target, "r-1");
  const { runId, output } = await runner.run(1);
  expect([runId === "r-1", output]).toEqual([false, 2]);
  expect(
    (
      await new Runner(
        Step.run("add", (n: number) => n + 1),
        { store: target },
      ).run(1, { runId: "r-1" })
    ).output,
  ).toBe(2);
});
