// Stand-ins and people: a wrong name or answer is refused, and a tool that never ran is not passed off as tested.

import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent, Pipeline, Step, tool } from "../../../src/index.ts";
import { explorerFolder } from "../../../src/testing/crash/explorer-options.ts";
import { type CrashExplorerOptions, crashExplorer } from "../../../src/testing/crash/index.ts";
import { scriptedPort } from "../scripted-port.ts";

/** An agent that can refund and mail, and only refunds; `log` has what really ran, and each model call. */
function support({ approval = false } = {}) {
  const log: string[] = [];
  const act = (name: string) =>
    tool({
      name,
      description: name,
      inputSchema: z.object({}),
      effect: "external",
      recovery: "keyed",
      approval: approval && name === "refund",
      execute: (_, { idempotencyKey }) => {
        log.push(name);
        return idempotencyKey.length;
      },
    });
  const [refund, mail] = [act("refund"), act("send_mail")];
  const model = scriptedPort(({ turn }) => {
    log.push("model");
    return turn === 1 ? { toolCalls: [{ name: "refund", input: {} }] } : { text: "Done." };
  });
  return { log, refund, pipeline: agent({ name: "support", model, tools: { refund, send_mail: mail } }) };
}

const ONCE = { input: "Go.", schedule: "undisturbed" } as const;
const standIn = () => "done";

function explore(options: Pick<CrashExplorerOptions, "pipeline"> & Partial<CrashExplorerOptions>) {
  return crashExplorer({ ...ONCE, ...options });
}

describe("a stand-in for no tool", () => {
  it.for([
    ["refnd", "did you mean refund?"],
    ["payment", "the tools without one are refund, send_mail."],
  ])("is refused before anything runs: %s", async ([name = "", advice]) => {
    const { pipeline, log } = support();
    await expect(explore({ pipeline, tools: { [name]: standIn } })).rejects.toThrow(
      `There is no tool ${name} to stand in for: ${advice} Nothing has run yet.`,
    );
    expect(log).toEqual([]);
  });

  it("is refused as early in a pipeline whose steps declare their tools", async () => {
    const { pipeline, log } = support();
    const asking = Pipeline.of(
      "asking",
      Step.granular("support", pipeline),
      Step.human("check", { question: "Sent?" }),
    );
    await expect(explore({ pipeline: asking, tools: { refnd: standIn } })).rejects.toThrow(
      "did you mean refund? Nothing has run yet.",
    );
    expect(log).toEqual([]);
  });

  it("is reported after the first schedule where code may call any tool", async () => {
    const { refund, log } = support();
    const code = Pipeline.of(
      "code",
      Step.run("pay", (_: string, ctx) => ctx.call(refund, {})),
    );
    await expect(explore({ pipeline: code, tools: { refnd: standIn } })).rejects.toThrow(
      "There is no tool refnd to stand in for: did you mean refund? The real refund ran.",
    );
    expect(log).toContain("refund");
    const far = await explore({ pipeline: code, tools: { payment: standIn } });
    expect(far.neverRan).toEqual(["payment"]);
  });

  it("is harmless if every tool has one: a table may serve several pipelines", async () => {
    const { pipeline, log } = support();
    const tools = { refund: standIn, send_mail: standIn, charge: standIn };
    const report = await explore({ pipeline, tools });
    report.assertKept();
    expect(log).not.toContain("refund");
    expect(report.neverRan).toEqual(["send_mail"]);
    const asked = await explore({ pipeline: Step.human("check", { question: "Sent?" }), tools });
    asked.assertKept();
  });
});

describe("a tool that ran in no schedule", () => {
  it("is named in the report, for people and for programs", async () => {
    const { pipeline } = support();
    const report = await explore({ pipeline });
    report.assertKept();
    expect(report.neverRan).toEqual(["send_mail"]);
    expect(String(report).split("\n").at(-1)).toBe(
      "never ran: send_mail. No schedule says anything about it: test a run that calls it too.",
    );
    expect(report.toJSON()).toMatchObject({ kept: true, neverRan: ["send_mail"] });
  });

  it("is one whose call was denied, too", async () => {
    const { pipeline } = support({ approval: true });
    const report = await explore({ pipeline, person: { approval: () => ({ deny: "Too much." }) } });
    expect(report.neverRan).toEqual(["refund", "send_mail"]);
    expect((await explore({ pipeline })).neverRan).toEqual(["send_mail"]);
  });
});

describe("a person", () => {
  it.for<readonly [object, string]>([
    [{ approval: () => true }, 'person.approval returned true: return "approve", or { deny: "the reason" }.'],
    [{ approval: () => ({ deny: "" }) }, 'person.approval returned {"deny":""}: return "approve"'],
    [{ approval: async () => "approve" }, "person.approval returned a promise: "],
    [{ approve: () => "approve" }, '`person` of crashExplorer has no "approve": did you mean approval?'],
    [{ approval: "approve" }, 'person.approval is "approve": give a function of the wait'],
  ])("with a wrong answer is refused, even if the run may fail: %j", async ([person, message]) => {
    const { pipeline } = support({ approval: true });
    await expect(explore({ pipeline, person, mayFail: true })).rejects.toThrow(message);
  });

  it.for<readonly [object, string]>([
    [
      { inDoubt: () => "succeeded" },
      'person.inDoubt returned "succeeded": return { as: "succeeded", result }',
    ],
    [{ inDoubt: () => ({ as: "failed" }) }, 'person.inDoubt returned {"as":"failed"}: '],
  ])("who settles a call with a wrong answer is refused: %j", async ([person, message]) => {
    const opaque = tool({
      description: "Rings.",
      inputSchema: z.object({}),
      effect: "external",
      execute: () => "rang",
    });
    const model = scriptedPort([{ toolCalls: [{ name: "ring", input: {} }] }, { text: "Done." }]);
    const pipeline = agent({ name: "ringer", model, tools: { ring: opaque } });
    const schedule = "crash after tool.ring 1";
    await expect(explore({ pipeline, person, schedule })).rejects.toThrow(message);
  });

  it("whose answer to a question is no JSON is refused", async () => {
    const pipeline = Step.human("check", { question: "Sent?" });
    const person: object = { question: () => undefined };
    await expect(explore({ pipeline, person })).rejects.toThrow(
      "person.question returned a value of type undefined: return the answer",
    );
    (await explore({ pipeline, person: { question: () => "It is." } })).assertKept();
  });
});

it("the databases are in memory only where there is such a folder, with room", () => {
  expect(explorerFolder("/no/such/folder")).toBe(tmpdir());
  expect(explorerFolder(import.meta.dirname)).toBe(import.meta.dirname);
  // A file system without any free block.
  expect(explorerFolder("/proc")).toBe(tmpdir());
});
