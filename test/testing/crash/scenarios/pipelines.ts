// Code steps, loops, artifacts and RunSpecs.

import { z } from "zod";
import { defineAgent } from "../../../../src/engine/definition/agent.ts";
import { Pipeline, Step } from "../../../../src/engine/definition/step.ts";
import { artifactKept, succeededOnce } from "../../../../src/engine/definition/stop-conditions.ts";
import { tool } from "../../../../src/engine/definition/tool.ts";
import type { Scenario, ToolStandIn } from "../../../../src/testing/crash/scenario.ts";
import { scriptedPort } from "../../scripted-port.ts";
import { asks, callTaxi, charge, errandAgent, found, lookUp, STAND_INS, ship } from "./errand-tools.ts";

/** Code steps before, between and after two rounds of an agent; all of them change the context. */
export function loop(): Scenario {
  const round = Pipeline.of(
    "round",
    Step.granular("work", errandAgent([asks(["charge", "inside"]), { text: "worked" }])),
    Step.run("count", async (_: string, ctx) => {
      ctx.context.rounds = Number(ctx.context.rounds ?? 0) + 1;
      await ctx.call(ship, { order: `round ${ctx.context.rounds}` });
      return Number(ctx.context.rounds);
    }),
  );
  return {
    name: "loop",
    pipeline: Pipeline.of(
      "looping",
      Step.run("prepare", async (input: string, ctx) => {
        ctx.context.subject = input;
        const [seen] = await Promise.all([
          ctx.call(lookUp, { order: "before" }),
          ctx.call(charge, { order: "before" }),
        ]);
        return seen;
      }),
      Step.loop("rounds", round, { until: (count) => count >= 2, maxIterations: 3 }),
      Step.run("end", async (rounds: number, ctx) => {
        const called = await ctx.call(callTaxi, { order: "home" });
        return { rounds, called, subject: ctx.context.subject ?? null };
      }),
    ),
    input: "Loop",
    tools: STAND_INS,
  };
}

const mail = tool({
  name: "send_mail",
  description: "Sends a mail.",
  inputSchema: z.object({ to: z.string(), text: z.string() }),
  effect: "external",
  recovery: "reconcile",
  identity: ({ to }) => ({ to }),
  timeoutMs: 4_000,
  landsWithinMs: 1_000,
  execute: () => {
    throw new Error("This tool needs a stand-in.");
  },
  reconcile: () => ({ status: "unknown" }),
});

const mailbox: ToolStandIn = {
  execute: ({ to }: { readonly to: string }) => `sent to ${to}`,
  reconcile: (_, call, outside) => found(call, outside),
};

/** A job with a RunSpec. It writes a file, mails it once although the model asks twice, and is done before its last step. */
export function artifactsAndSpec(): Scenario {
  const mailer = defineAgent({
    name: "mailer",
    model: scriptedPort([
      { toolCalls: [{ name: "send_mail", input: { to: "ann", text: "Here it is." } }] },
      { toolCalls: [{ name: "send_mail", input: { to: "ann", text: "Here it is, once more." } }] },
      { text: "Mailed." },
    ]),
    tools: { send_mail: mail },
  });
  const pipeline = Pipeline.of(
    "reporting",
    Step.run("write", async (input: string, ctx) => {
      await ctx.artifact("draft.md", `# ${input}`);
      return (await ctx.artifact("report.md", `# ${input}, finished`)).hash;
    }),
    Step.granular("mail", mailer),
    Step.run("tidy", (_: string, ctx) => ctx.call(charge, { order: "tidying" })),
  );
  return {
    name: "artifacts-and-spec",
    pipeline: Pipeline.stoppingWhen(pipeline, {
      reported: artifactKept("report.md"),
      mailed: succeededOnce("send_mail"),
    }),
    input: "Report",
    tools: { ...STAND_INS, send_mail: mailbox },
    run: {
      spec: {
        objective: "Report.",
        constraints: { noDuplicateExternalActions: true },
        budgets: { maxSteps: 10, maxToolCalls: 10, maxWallclockMinutes: 600, maxTokens: 1_000_000 },
        stopConditions: ["reported", "mailed"],
        artifacts: { expectedOutputs: ["report.md", "transcript.md"] },
      },
    },
  };
}
