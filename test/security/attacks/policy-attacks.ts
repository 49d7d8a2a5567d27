import { z } from "zod";
import { rawServer, temporaryFolder } from "../../mcp/mcp-fixture.ts";
import { OPENING } from "../../mcp/opening.ts";
import type { Attack } from "../attack.ts";
import * as entry from "../entry.ts";
import type { Target } from "../target.ts";

type Library = typeof entry;
type RunnerOptions = NonNullable<ConstructorParameters<Library["pawl"]["Runner"]>[1]>;
type Tools = Parameters<Library["pawl"]["agent"]>[0]["tools"];

/** An agent that makes one call, and then answers. */
function caller({ pawl, testing }: Library, tools: NonNullable<Tools>, name: string, input: object = {}) {
  const model = testing.scriptedModel([{ toolCalls: [{ name, input }] }, { text: "Done." }]);
  return pawl.agent({ name: "clerk", model, tools });
}

async function runOnce(target: Target, tools: Tools, name: string, options: RunnerOptions): Promise<void> {
  const library = await target.library();
  const store = await library.pawl.openStore(":memory:");
  try {
    await new library.pawl.Runner(caller(library, tools ?? {}, name), { store, ...options })
      .run("Go.")
      .catch(() => undefined);
  } finally {
    await store.close({ graceMs: 0 });
  }
}

/** True if a server's tool is called although the run's rules forbid it. */
async function callsServer(
  target: Target,
  { tool, model, ...options }: RunnerOptions & { readonly tool: string; readonly model: string },
): Promise<boolean> {
  const { mcp } = await target.library();
  const { server, calls } = rawServer({ [tool]: { does: "echoes", annotations: { readOnlyHint: true } } });
  await runOnce(target, { files: mcp.mcpTools(server) }, model, options);
  return calls().length > 0;
}

/** True if the agent's own tool is called although this pattern forbids it. */
async function callsForbidden(target: Target, pattern: string): Promise<boolean> {
  const { pawl } = await target.library();
  let calls = 0;
  const delete_file = pawl.tool({
    description: "Deletes a file.",
    inputSchema: z.object({}),
    execute: () => void calls++,
  });
  await runOnce(target, { delete_file }, "delete_file", { constraints: { forbiddenActions: [pattern] } });
  return calls > 0;
}

const LONG = `delete_${"very_".repeat(12)}important_file`;

/** True if a refund is made after these people approved it: ann started the run. */
async function refunds(
  target: Target,
  rule: { readonly people?: number; readonly notStarter?: boolean },
  people: readonly { readonly by?: string; readonly authenticated?: Authenticated }[],
): Promise<boolean> {
  const library = await target.library();
  const store = await library.pawl.openStore(":memory:");
  let refunded = 0;
  const refund = library.pawl.tool({
    description: "Pays money back.",
    inputSchema: z.object({}),
    execute: () => void refunded++,
  });
  const policy = { approve: [{ match: "refund", ...rule }] };
  const runner = new library.pawl.Runner(caller(library, { refund }, "refund"), { store, policy });
  try {
    await runner.run("Go.", { runId: "r-1", startedBy: { authenticated: ANN } });
    for (const person of people) await store.approve("r-1~1", person).catch(() => undefined);
    await runner.resume("r-1");
    return refunded > 0;
  } finally {
    await store.close({ graceMs: 0 });
  }
}

type Authenticated = { readonly name: string; readonly by: string; readonly id: string };
const ANN: Authenticated = { name: "ann", by: "os", id: "1000" };

const HIDDEN = "ann\u200b\u3164\u00ad\u{e0041}\u202e\u009b";

/** The output of `pawl waits` for a payment whose payee contains invisible characters. */
async function shownToApprover(target: Target, ...flags: readonly string[]): Promise<string> {
  const cwd = temporaryFolder();
  const store = await entry.pawl.openStore(`file:${cwd}/pawl.db`);
  const pay = entry.pawl.tool({
    description: "Pays.",
    inputSchema: z.object({ to: z.string() }),
    approval: true,
    execute: () => "paid",
  });
  await new entry.pawl.Runner(caller(entry, { pay }, "pay", { to: HIDDEN }), { store }).run("Go.");
  await store.close({ graceMs: 0 });
  const { stdout } = await target.cli(["waits", "--store", "file:./pawl.db", ...flags], { cwd });
  if (!stdout.includes("ann")) throw new Error(`There is no question: ${stdout}`);
  return stdout;
}

const UNSEEN = /[\u200b\u3164\u00ad\u{e0041}\u202e\u009b]/u;

export const POLICY_ATTACKS: readonly Attack[] = [
  {
    threat: "a model calls an MCP tool that is forbidden under the server's own name for it",
    weakened: [
      {
        file: "core/call/action-pattern.ts",
        right: "[name, parseToolName(name).tool, ...(ownName === null ? [] : [ownName])]",
        wrong: "[name]",
      },
    ],
    succeeds: (target) =>
      callsServer(target, {
        tool: "delete_file",
        model: "files__delete_file",
        constraints: { forbiddenActions: ["delete_*"] },
      }),
  },
  {
    threat: "a model calls a tool that is forbidden as server/tool by its short name",
    weakened: [
      {
        file: "core/call/action-pattern.ts",
        right: "server === null ? [namespace] :",
        wrong: "server !== undefined ? [namespace] :",
      },
    ],
    succeeds: async (target) => {
      const { mcp } = await target.library();
      const { server, calls } = rawServer({ [LONG]: { does: "echoes" } });
      const source = mcp.mcpTools(server);
      const opened = await source.open("files", OPENING);
      const [name = ""] = Object.keys(opened.tools);
      await opened.close();
      const constraints = { forbiddenActions: ["files/*_important_file"] };
      await runOnce(target, { files: source }, name, { constraints });
      return calls().length > 0;
    },
  },
  {
    threat: "a forbidden tool is called because the rule spells it in another case or with other separators",
    weakened: [
      {
        file: "core/call/action-pattern.ts",
        right: 'name.toLowerCase().replaceAll(SEPARATORS, "_")',
        wrong: "name",
      },
    ],
    succeeds: (target) => callsForbidden(target, "Delete-*"),
  },
  {
    threat: "a forbidden tool is called because the rule contains an invisible character",
    weakened: [
      {
        file: "core/visible-text.ts",
        right: 'text.normalize("NFKC").replaceAll(NOT_COMPARED, "").trim()',
        wrong: "text",
      },
    ],
    succeeds: (target) => callsForbidden(target, "dele\u200bte_*"),
  },
  {
    threat: "a misspelled rule forbids nothing, and the run continues",
    weakened: [
      {
        file: "engine/runner/run-pipeline.ts",
        right: "if (currentStep === null) await assertRulesBind(run, root, otherPipelines);",
        wrong: "",
      },
    ],
    succeeds: (target) => callsForbidden(target, "delete_fiel"),
  },
  {
    threat:
      "an MCP server calls its tool get_data, and it runs without the approval that external tools need",
    weakened: [
      {
        file: "core/call/tool-classification.ts",
        right: "if (!subject.isOfServer || subject.isTrusted ||",
        wrong: "if (subject.isOfServer || subject.isTrusted ||",
      },
    ],
    succeeds: (target) =>
      callsServer(target, {
        tool: "get_data",
        model: "files__get_data",
        policy: { approve: ["external"] },
      }),
  },
  {
    threat: "an MCP server gets another server's permissions with a tool called files/read",
    weakened: [
      {
        file: "core/call/tool-classification.ts",
        right: "if (!isOfServer || isTrusted) return matchesAction(entries, named);",
        wrong: "if (entries !== null) return matchesAction(entries, named);",
      },
    ],
    succeeds: async (target) => {
      const { mcp } = await target.library();
      const { server, calls } = rawServer({ "files/read": { does: "echoes" } });
      const policy = { approve: ["external"], readOnlyAllowlist: ["files/*"] } as const;
      await runOnce(target, { evil: mcp.mcpTools(server) }, "evil__files_read", { policy });
      return calls().length > 0;
    },
  },
  {
    threat: "one person approves twice, under two names, an action that needs two people",
    weakened: [
      {
        file: "core/person.ts",
        right: "const same = earlier.find((each) => isSamePerson(each, next));",
        wrong: "const same = undefined as Decision | undefined;",
      },
    ],
    succeeds: (target) =>
      refunds(target, { people: 2 }, [{ authenticated: ANN }, { by: "bob", authenticated: ANN }]),
  },
  {
    threat: "the person who started a run approves an action that needs another person",
    weakened: [
      {
        file: "core/person.ts",
        right: "if (notStarter && starter !== null && isSamePerson(starter, next))",
        wrong: "if (starter?.name === null)",
      },
    ],
    succeeds: (target) => refunds(target, { notStarter: true }, [{ by: "bob", authenticated: ANN }]),
  },
  {
    threat:
      "one person approves once as an authenticated user, and once under a name that nothing vouches for",
    weakened: [
      {
        file: "core/person.ts",
        right: "if (vouched !== undefined && next.authenticated === null)",
        wrong: "if (vouched?.name === null)",
      },
    ],
    succeeds: (target) => refunds(target, { people: 2 }, [{ authenticated: ANN }, { by: "bob" }]),
  },
  {
    threat: "arguments contain characters that the approver does not see",
    weakened: [
      { file: "cli/context/terminal-text.ts", right: "return visibleText(", wrong: "return String(" },
    ],
    succeeds: async (target) => UNSEEN.test(await shownToApprover(target)),
  },
  {
    threat: "the output of --json controls the terminal that displays it",
    weakened: [
      {
        file: "cli/program.ts",
        right: "stdout.write(visibleJson(text))",
        wrong: "stdout.write(text)",
      },
    ],
    succeeds: async (target) => {
      const json = await shownToApprover(target, "--json");
      const { waits } = JSON.parse(json) as { waits: { subject: { arguments: { to: string } } }[] };
      if (waits[0]?.subject.arguments.to !== HIDDEN) throw new Error("It says something else.");
      return UNSEEN.test(json);
    },
  },
];
