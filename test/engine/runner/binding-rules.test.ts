// Rules that name tools: an unknown name is an error before the first step, a pattern without a match is a warning.

import { describe, expect, it } from "vitest";
import { mcpTools } from "../../../src/adapters/mcp/mcp.ts";
import {
  Pipeline,
  Runner,
  type RunnerOptions,
  type RunSpecInput,
  Step,
  type StepNode,
} from "../../../src/index.ts";
import { rawServer } from "../../mcp/mcp-fixture.ts";
import { acting, actTool, asking } from "../call/call-fixture.ts";
import { temporaryFolder } from "../job-fixture.ts";
import { failureOf, memoryStore, scriptedAgent } from "../run-fixture.ts";

const forbidding = (...forbiddenActions: string[]) => ({ constraints: { forbiddenActions } });

/** A run of this target, with its warnings. */
async function runOf(target: StepNode | ReturnType<typeof scriptedAgent>["agent"], options: RunnerOptions) {
  const warnings: string[] = [];
  const store = await memoryStore();
  const onEvent: RunnerOptions["onEvent"] = (event) => {
    if (event.type === "warning") warnings.push(event.message);
  };
  const runner = new Runner(target, { store, onEvent, workspaceRoot: temporaryFolder(), ...options });
  const run = (spec?: RunSpecInput) =>
    runner.run("Go", { runId: "r-1", ...(spec === undefined ? {} : { spec }) });
  return { run, runner, store, warnings };
}

function acter() {
  const { act, calls } = actTool();
  return { ...scriptedAgent([acting("a"), { text: "End." }], { tools: { act } }), calls };
}

describe("a rule with an unknown tool name", () => {
  it("is an error before the first step, with a suggestion", async () => {
    const { agent, prompts, calls } = acter();
    const { run, runner, store } = await runOf(agent, forbidding("acct"));
    const error = await failureOf(run());
    expect(String(error)).toBe(
      'ConfigurationError: No step of run r-1 was begun: constraints.forbiddenActions has "acct", and there is no such tool: did you mean act? Correct that, and start a new run.',
    );
    expect([prompts, calls, await store.listSteps("r-1")]).toEqual([[], [], []]);
    // A resume does not get past it.
    expect(String(await failureOf(runner.resume("r-1")))).toContain("did you mean act?");
  });

  it("is an error in a RunSpec and in policy.approve too", async () => {
    const { run } = await runOf(acter().agent, {});
    const constraints = { forbidden_actions: ["delete_file"] };
    expect(String(await failureOf(run({ objective: "Go", constraints })))).toContain(
      '"delete_file", and there is no such tool: the known tools are act.',
    );
    const { run: other } = await runOf(acter().agent, { policy: { approve: [{ match: "pay" }] } });
    expect(String(await failureOf(other()))).toContain('policy.approve has "pay"');
  });

  it("is no error if another pipeline of the rules has the tool, or may have it", async () => {
    const other = scriptedAgent([], { tools: { pay: actTool(undefined, { name: "pay" }).act } }).agent;
    const { run, warnings } = await runOf(acter().agent, { ...forbidding("pay"), otherPipelines: [other] });
    expect((await run()).output).toBe("End.");
    expect(warnings).toEqual([]);
    const spec = { objective: "Go", constraints: { forbidden_actions: ["pay"] } };
    const { run: job } = await runOf(acter().agent, { otherPipelines: [other] });
    expect(String(await failureOf(job(spec)))).toContain("and there is no such tool");
    const code = Step.run("code", () => null);
    const unsure = await runOf(acter().agent, { ...forbidding("pay"), otherPipelines: [code] });
    expect((await unsure.run()).output).toBe("End.");
    expect(unsure.warnings).toHaveLength(1);
  });

  it("is a warning if a code step may call the tool, and applies then", async () => {
    const { act, calls } = actTool(undefined, { name: "pay" });
    const code = Step.run("code", (_input, ctx) => ctx.call(act, { what: "a" }));
    const { run, warnings } = await runOf(code, forbidding("pay"));
    await failureOf(run());
    expect(calls).toEqual([]);
    expect(warnings).toEqual([
      'constraints.forbiddenActions has "pay", and no known tool matches it: it applies to tools that become known later.',
    ]);
  });

  it("is checked against the tools of a server before the first step", async () => {
    const raw = rawServer({ delete_file: { does: "echoes" }, "read.file": { does: "echoes" } });
    const first = acter();
    const clerk = scriptedAgent([asking(["files__delete_file", {}]), { text: "End." }], {
      name: "clerk",
      tools: { files: mcpTools(raw.server) },
    });
    const pipeline = Pipeline.of("both", Step.granular("a", first.agent), Step.granular("b", clerk.agent));
    const wrong = await runOf(pipeline, forbidding("files/delete_fiel"));
    expect(String(await failureOf(wrong.run()))).toContain("did you mean files/delete_file?");
    expect(first.prompts).toEqual([]);
    const right = await runOf(pipeline, forbidding("delete-file", "Files:Read_File"));
    expect((await right.run()).output).toBe("End.");
    expect(raw.calls()).toEqual([]);
    expect(right.warnings).toEqual([]);
  });

  it("is a warning if the server cannot be opened, and the step fails with the reason", async () => {
    const clerk = scriptedAgent([], {
      tools: { files: mcpTools({ command: "/no/such/command", args: [] }) },
    });
    const { run, warnings } = await runOf(clerk.agent, forbidding("delete_file"));
    expect(String(await failureOf(run()))).toMatch(/MCP server files/);
    expect(warnings).toHaveLength(1);
  });
});

it("A pattern that matches no tool is a warning", async () => {
  const { run, warnings } = await runOf(acter().agent, forbidding("delete_*", "act*"));
  expect((await run()).output).toBe("End.");
  expect(warnings).toEqual([
    'constraints.forbiddenActions has "delete_*", and no known tool matches it: it applies to tools that become known later.',
  ]);
});

it("A run that has begun resumes whatever its rules name, since they were checked at its start or before this check existed", async () => {
  const { act } = actTool(undefined, { approval: true });
  const script = [acting("a"), { text: "End." }];
  const store = await memoryStore();
  const begun = new Runner(scriptedAgent(script, { tools: { act } }).agent, { store });
  expect((await begun.run("Go", { runId: "r-1" })).status).toBe("waiting");
  await store.approve("r-1~1");
  const later = new Runner(scriptedAgent(script, { tools: { act } }).agent, { store, ...forbidding("acct") });
  expect((await later.resume("r-1")).output).toBe("End.");
});

describe("an entry of the policy's lists that matches no tool", () => {
  it("is a warning, however it is spelled, and never an error", async () => {
    const policy = { sideEffectDenylist: ["acct", "act"], readOnlyAllowlist: ["redd_*"] };
    const { run, warnings } = await runOf(acter().agent, { policy });
    expect((await run()).status).toBe("succeeded");
    expect(warnings).toEqual([
      'policy.sideEffectDenylist has "acct", and no known tool matches it: it applies to tools that become known later.',
      'policy.readOnlyAllowlist has "redd_*", and it allows no known tool: for a tool of an MCP server, write server/tool.',
    ]);
  });

  it("is a warning if it names no server and only a server has such a tool", async () => {
    const { server } = rawServer({ read_file: { does: "echoes" } });
    const { agent } = scriptedAgent([{ text: "End." }], { tools: { files: mcpTools(server) } });
    const policy = { readOnlyAllowlist: ["read_file", "files/read_*"] };
    const { run, warnings } = await runOf(agent, { policy });
    await run();
    expect(warnings.map((warning) => warning.slice(0, 40))).toEqual([
      'policy.readOnlyAllowlist has "read_file"',
    ]);
  });
});
