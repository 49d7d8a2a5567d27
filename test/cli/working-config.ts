/** A configuration whose runs can be observed and paused: everything they do is a line in log.txt. */
export const WORKING_CONFIG = `
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "<pawl>node_modules/zod/index.js";
import { Pipeline, Step, agent, tool } from "<pawl>src/index.ts";
import { defineConfig } from "<pawl>src/engine/definition/config.ts";
import { scriptedModel } from "<pawl>src/testing/scripted-model.ts";

const here = import.meta.dirname;
const log = (line: string) => appendFileSync(join(here, "log.txt"), line + "\\n");

/** Waits while the test pauses it. */
const act = tool({
  description: "Act.",
  inputSchema: z.object({ what: z.string() }),
  effect: "external",
  recovery: "keyed",
  execute: async ({ what }) => {
    log(what + " begins");
    while (existsSync(join(here, "hold-" + what))) await sleep(2);
    log(what + " ends");
    return what;
  },
});
const mail = tool({
  description: "Send.",
  inputSchema: z.object({ to: z.string() }),
  effect: "external",
  approval: true,
  execute: ({ to }) => { log("mail to " + to); return "sent"; },
});

const acting = (what: string) => ({ toolCalls: [{ name: "act", input: { what } }] });
const model = scriptedModel(({ turn }) => {
  log("model " + turn);
  return [acting("one"), acting("two"), { text: "All is done." }][turn - 1];
});
const worker = agent({ name: "worker", model, instructions: "Work.", tools: { act } });

const sender = agent({
  name: "sender",
  model: scriptedModel([{ toolCalls: [{ name: "mail", input: { to: "ada@example.com" } }] }, { text: "It is sent." }]),
  instructions: "Send.",
  tools: { mail },
});
const asks = Pipeline.of(
  "asks",
  Step.granular("send", sender),
  Step.human("check", { question: "Is it right?", choices: ["yes", "not quite"] }),
);

const fails = Pipeline.of(
  "fails",
  Step.run("first", () => { log("first"); return 1; }),
  Step.run("second", () => {
    log("second");
    if (existsSync(join(here, "broken"))) throw new Error("The press is broken.");
    return { printed: true };
  }),
);
const echo = Pipeline.of("echo", Step.run("say", (input: unknown) => input));

export default defineConfig({ pipelines: { worker, asks, fails, echo } });
`;

/** The log of an uninterrupted run of `worker`. */
export const WHOLE_LOG = [
  "model 1",
  "one begins",
  "one ends",
  "model 2",
  "two begins",
  "two ends",
  "model 3",
];
