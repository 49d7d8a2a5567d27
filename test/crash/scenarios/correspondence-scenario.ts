// An agent that repeats some calls: mails, which are wanted once, and test runs, which are wanted each time.

import { z } from "zod";
import { agent, Step, type StepNode, tool } from "../../../src/index.ts";
import type { ScriptedResponse } from "../../../src/testing/index.ts";
import { scriptedPort } from "../../testing/scripted-port.ts";
import { labelOf, resultsIn } from "../harness/prompt.ts";
import { enterOutside, readOutside, readWitness, recordWitness } from "../harness/witness.ts";
import { recordEffect, type Setting, toolWork } from "./tool-work.ts";

const TESTS = { name: "run_tests", input: { suite: "unit" } };

function email(subject: string, body: string) {
  return { name: "send_email", input: { to: "maria@example.com", subject, body } };
}

/** The model's answers, turn by turn. Turn 5 repeats the mail of turn 2 in other words. */
const CORRESPONDENCE: readonly ScriptedResponse[] = [
  { toolCalls: [TESTS] },
  { toolCalls: [email("Results", "All tests pass.")] },
  { toolCalls: [TESTS] },
  { toolCalls: [email("Thanks", "Thank you."), email("Thanks", "Thank you."), TESTS, TESTS] },
  { toolCalls: [email("Results", "Dear Maria, not one test has failed.")] },
];

export function correspondence(setting: Setting): StepNode {
  const { folder, variant } = setting;
  const model = scriptedPort(({ turn, options }) => {
    const results = resultsIn(options);
    recordWitness(folder, { kind: "asked", label: labelOf(options), turn });
    recordWitness(folder, { kind: "saw", turn, results });
    return CORRESPONDENCE[turn - 1] ?? { text: `Done after ${results.length} calls.` };
  });
  const tools = { send_email: emailTool(setting), run_tests: testsTool(setting) };
  return Step.granular("correspondence", agent({ name: "secretary", model, tools }), variant.step);
}

/** The mail server deduplicates by key. Its answer is long, and different for each mail that was sent. */
function emailTool(setting: Setting) {
  const { folder } = setting;
  return tool({
    description: "Send one email.",
    inputSchema: z.object({ to: z.string(), subject: z.string(), body: z.string() }),
    effect: "external",
    recovery: "keyed",
    identity: ({ to, subject }) => ({ to, subject }),
    execute: ({ subject, body }, call) =>
      toolWork(setting, "send_email", subject, call, () => {
        enterOutside(folder, call.idempotencyKey, body);
        return { sent: body, number: readOutside(folder).length, log: "250 queued, ".repeat(3_000) };
      }),
  });
}

/** Returns how often tests have run so far, so that no two results are alike. */
function testsTool(setting: Setting) {
  const { folder } = setting;
  return tool({
    description: "Run the tests.",
    inputSchema: z.object({ suite: z.string() }),
    effect: "local",
    recovery: "repeat",
    execute: ({ suite }, call) =>
      toolWork(setting, "run_tests", suite, call, () => {
        recordEffect(folder, "run_tests", suite, call);
        return `test run ${readWitness(folder).filter(({ kind }) => kind === "effect").length} is green`;
      }),
  });
}
