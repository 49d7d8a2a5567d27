/** Agents for crash tests. Everything that really runs or is asked is a line in log.txt. */
const CRASHTEST_CONFIG = `
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "<pawl>node_modules/zod/index.js";
import { Pipeline, Step, agent, askHuman, tool } from "<pawl>src/index.ts";
import { defineConfig } from "<pawl>src/engine/definition/config.ts";
import { scriptedModel } from "<pawl>src/testing/scripted-model.ts";

const here = import.meta.dirname;
const log = (line: string) => appendFileSync(join(here, "log.txt"), line + "\\n");

const mailTool = (recovery: "repeat" | "keyed", handsOn: boolean) => tool({
  name: "send_email",
  description: "Send.",
  inputSchema: z.object({ to: z.string() }),
  effect: "external",
  recovery,
  execute: ({ to }, call) => {
    log("mail to " + to);
    return { sent: handsOn ? call.idempotencyKey : "x".repeat(30_000) };
  },
});
const script = scriptedModel(({ turn }) => {
  log("model " + turn);
  return [{ toolCalls: [{ name: "send_email", input: { to: "ann" } }] }, { text: "Sent." }][turn - 1];
});
const mailer = (name: string, tool: ReturnType<typeof mailTool>) =>
  agent({ name, model: script, tools: { send_email: tool } });

const forgetful = mailer("forgetful", mailTool("keyed", false));
const careful = mailer("careful", mailTool("keyed", true));
const careless = mailer("careless", mailTool("repeat", true));

const note = tool({
  name: "note",
  description: "Note.",
  inputSchema: z.object({ text: z.string() }),
  effect: "external",
  recovery: "keyed",
  execute: async ({ text }, call) => {
    log("note " + text);
    await call.artifact(text + ".txt", text);
    if (text === "bad") throw new Error("It is bad.");
    return "noted " + text;
  },
});
const clerk = agent({
  name: "clerk",
  model: scriptedModel(({ turn }) => {
    log("model " + turn);
    return [
      { toolCalls: [{ name: "note", input: { text: "one" } }, { name: "ask_human", input: { question: "Which?" } }] },
      { toolCalls: [{ name: "send_email", input: { to: "bob" } }] },
      { text: "Done." },
    ][turn - 1];
  }),
  tools: { note, ask_human: askHuman, send_email: { ...mailTool("keyed", false), approval: true } },
});
const office = Pipeline.of(
  "office",
  Step.granular("clerk", clerk),
  Step.run("file", async (given: unknown, ctx) => {
    const [first, second] = await Promise.all([ctx.call(note, { text: "a" }), ctx.call(note, { text: "b" })]);
    return [given, first, second];
  }),
);

const moody = Pipeline.of("moody", Step.run("look", (_: unknown, ctx) =>
  ctx.call(note, { text: existsSync(join(here, "changed")) ? "other" : "same" })));

const lookUp = tool({
  description: "Look.",
  inputSchema: z.object({}),
  effect: "read_only",
  execute: () => "seen",
});
const reader = agent({ name: "reader", model: script, tools: { look_up: lookUp } });

const served = agent({
  name: "served",
  model: script,
  tools: { files: { [Symbol.for("pawl.tool-source")]: true, name: null, open: () => log("server started") } },
});

const input = "Ann";
export default defineConfig({
  pipelines: { forgetful, careful, careless, office, moody, reader, served },
  crashtests: CRASHTESTS,
});
`;

/** With these stand-ins. */
export function configWith(crashtests: string): string {
  return CRASHTEST_CONFIG.replace("CRASHTESTS", crashtests);
}
