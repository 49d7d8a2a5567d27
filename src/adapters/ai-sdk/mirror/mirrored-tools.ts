import type { ToolSet } from "ai";
import type { Json } from "../../../core/json.ts";
import type { Agent } from "../../../engine/definition/agent.ts";
import type { WaitRecord } from "../../../store/store.ts";

/** The result of a call, from the ledger. */
export type ResultOfCall = (toolCallId: string) => Promise<Json>;

/** The SDK's name of a decision about a call. */
type Approval = "not-applicable" | { readonly type: "user-approval"; readonly reason?: string };

/**
 * The tools of an agent for the SDK: their names, and in place of what they do, the receipts of the ledger. The SDK cannot
 * run any of them.
 */
export class MirroredTools {
  /** Handed to the SDK. A tool that is only known once it was called is added before its call is shown. */
  readonly set: ToolSet;
  readonly #resultOf: ResultOfCall;
  readonly #asked = new Map<string, WaitRecord>();

  constructor(agent: Agent, resultOf: ResultOfCall) {
    this.#resultOf = resultOf;
    this.set = toolSet(agent, resultOf);
  }

  /** A tool of an MCP server, or one that the model has invented. */
  add(name: string): void {
    if (!Object.hasOwn(this.set, name)) this.set[name] = { type: "dynamic", ...mirrored("", this.#resultOf) };
  }

  /** The call waits for a person: the SDK asks for one, and does not expect a result. */
  ask(toolCallId: string, wait: WaitRecord): void {
    this.#asked.set(toolCallId, wait);
  }

  /** True if the SDK ends here, and waits for a person. */
  get asksAny(): boolean {
    return this.#asked.size > 0;
  }

  approvalOf(toolCallId: string): Approval {
    const wait = this.#asked.get(toolCallId);
    if (wait === undefined) return "not-applicable";
    return isForUser(wait)
      ? { type: "user-approval" }
      : { type: "user-approval", reason: `An operator decides this: ${wait.waitId}.` };
  }
}

/** True if the person who talks with the agent may decide about the call. */
export function isForUser({ subject }: WaitRecord): boolean {
  return subject.approver === "user";
}

/** The tools for everything that only reads their names and descriptions. They cannot be run. */
export function shownTools(agent: Agent): ToolSet {
  return toolSet(agent, async () => {
    throw new Error("The tools of a durable agent are run by its runs alone: call the agent.");
  });
}

/** The agent's tools by the names that models know. */
function toolSet(agent: Agent, resultOf: ResultOfCall): ToolSet {
  return Object.fromEntries(
    Object.entries(agent.tools).map(([key, { name, description }]) => [
      name ?? key,
      mirrored(description, resultOf),
    ]),
  );
}

function mirrored(description: string, resultOf: ResultOfCall) {
  return {
    description,
    inputSchema: ANY_INPUT,
    execute: (_input: Json, { toolCallId }: { readonly toolCallId: string }) => resultOf(toolCallId),
  };
}

/**
 * Everything fits: arguments are checked when a run executes a call, and those of stored calls, which models may have got
 * wrong, must not be refused when a client sends them back.
 */
const ANY_INPUT = {
  "~standard": {
    version: 1,
    vendor: "pawl",
    validate: (value: unknown) => ({ value: value as Json }),
    jsonSchema: { input: () => ({}), output: () => ({}) },
  },
} as const;
