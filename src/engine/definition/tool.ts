import type { z } from "zod";
import type { ReconcileStatus, RecoveryClass, SideEffectClass } from "../../core/call/tool-call-decision.ts";
import type { ToolAnnotations } from "../../core/call/tool-classification.ts";
import { ConfigurationError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import type { ToolOutput } from "../../core/message.ts";
import type { NetworkPolicy } from "../../core/network-policy.ts";
import { isSecret, type Secret } from "../../core/secret/secret.ts";
import { zodJsonSchema } from "../../core/zod-json-schema.ts";
import type { SessionView } from "../../session/session-view.ts";
import type { ArtifactAccess } from "./artifact-access.ts";
import { type ToolInputSchema, zodInput } from "./tool-schema.ts";

/** What a tool is told about the call it serves. */
export interface ToolCallContext extends ArtifactAccess {
  readonly runId: string;
  readonly stepId: string;
  readonly stepName: string;
  readonly turnIndex: number;
  readonly toolCallId: string;
  /** 1 the first time; higher when an earlier try failed or was interrupted. */
  readonly attempt: number;
  /** The same for every try of this call: hand it to the outside system, so that it can drop a second one. */
  readonly idempotencyKey: string;
  readonly turnKey: string;
  readonly epoch: number;
  /** Aborts when the call takes too long, and when the run is cancelled or taken over. */
  readonly signal: AbortSignal;
  /**
   * The run's session as this call finds it. What is dispatched here is kept with the receipt, and takes effect when the
   * call has succeeded and its turn is committed.
   */
  readonly session: SessionView;
  /** The W3C trace headers of this try, for the other side; empty where nothing is traced. */
  readonly traceHeaders: { readonly [name: string]: string };
  /** Where the run may connect to; `guardedFetch(call)` keeps to it. */
  readonly network: NetworkPolicy;
  /**
   * A text without the secrets that the run knows. What a tool returns or throws is hidden anyway; a text that is to be cut
   * goes through here first, since half of a secret is not known as one. Of a text that is a part of a longer one already, say
   * which end was torn.
   */
  hide(text: string, torn?: { readonly start?: boolean; readonly end?: boolean }): string;
  /** The same for a text of megabytes, which takes a while: the process does other things meanwhile. */
  hideLong(text: string, torn?: { readonly start?: boolean; readonly end?: boolean }): Promise<string>;
  /**
   * Keeps what the outside system calls this effect (a message id, a request id), with the receipt and for `reconcile`.
   * It is durable when the promise resolves: wait for that before you rely on it. The last id counts.
   */
  correlate(id: string): Promise<void>;
  /**
   * What `correlate` has kept of this try; in `reconcile`, of the try that is in doubt. Null where it kept nothing: an
   * earlier try's id says nothing about this one.
   */
  readonly correlationId: string | null;
}

/** What a look-up found out about a call whose outcome is unknown. */
export type Reconciliation<O> =
  | { readonly status: "done"; readonly result: O }
  | { readonly status: Exclude<ReconcileStatus, "done"> };

/** What people write to make a tool. `I` is what `execute` gets, `A` the arguments before they are parsed. */
export interface ToolDefinition<I, O, A = unknown> {
  /** The key in the agent's `tools` unless said otherwise; needed for a tool that a code step calls. */
  readonly name?: string;
  /** "local" unless said otherwise. */
  readonly namespace?: string;
  readonly description: string;
  readonly inputSchema: z.ZodType<I, A>;
  readonly outputSchema?: z.ZodType<O>;
  /** What the tool changes. Unless said, its name tells; one that tells nothing is `external`. */
  readonly effect?: SideEffectClass;
  /**
   * What may be done when nobody knows whether a call happened: `repeat` runs it again, `keyed` runs it again with the
   * same key, `reconcile` looks it up, `opaque` asks a person. Unless said, `repeat` for read-only tools, else `opaque`.
   */
  readonly recovery?: RecoveryClass;
  /** The payload has to carry the call's key: the input schema needs an `idempotencyKey` property. */
  readonly requiresIdempotencyKey?: boolean;
  /** Whom an unknown outcome is put before: a person (`ask`), or the model (`tell`), which can look for itself. */
  readonly inDoubt?: "ask" | "tell";
  /** The arguments that make two calls the same effect; such a tool has it once in a run, unless `dedupe` is `call`. */
  readonly identity?: (input: I) => Json;
  /** `effect`: once in a run, whoever asks. `call`: each call is one of its own. */
  readonly dedupe?: "effect" | "call";
  /** Whether a person has to let it run. */
  readonly approval?: boolean | ((input: I) => ApprovalVerdict | Promise<ApprovalVerdict>);
  /** Runs while no other call of its turn does. */
  readonly exclusive?: boolean;
  /** The longest that a try may take; ten minutes unless said otherwise. */
  readonly timeoutMs?: number;
  /** How long after its end a try may still take effect outside; one minute unless said otherwise. */
  readonly landsWithinMs?: number;
  /** How long the outside system remembers a key; 24 hours unless said otherwise. */
  readonly keyValidForMs?: number;
  /** What it was made with and nobody is to see, such as an API key: hidden in all that the run stores, tells or throws. */
  readonly secrets?: readonly Secret[];
  /** The addresses that it connects to: the run's `allowedDomains` are checked against them before it runs. */
  readonly urls?: (input: I) => readonly string[];
  execute(input: I, call: ToolCallContext): Promise<O> | O;
  /** Asks the outside world whether a call happened. It must not change anything. */
  reconcile?(input: I, call: ToolCallContext): Promise<Reconciliation<O>> | Reconciliation<O>;
}

/** Whether a person has to let a call run, or why nobody may. */
export type ApprovalVerdict = boolean | { readonly denied: string };

/** A result, and the call that it came from. */
export type ShownResult = {
  readonly toolCallId: string;
  readonly input: unknown;
  readonly result: unknown;
};

const TOOL = Symbol.for("pawl.tool");

/** A tool as the engine uses it. `A` and `O` are what `ctx.call` takes and gives. */
export type Tool<A = never, O = unknown> = {
  readonly [TOOL]: true;
  readonly name: string | null;
  readonly namespace: string;
  /** The MCP server that it comes from. */
  readonly server: string | null;
  /** What that server itself calls it; null where it comes from none. */
  readonly ownName: string | null;
  readonly description: string;
  readonly input: ToolInputSchema;
  readonly output: z.ZodType | null;
  /** Null: its name, and the policy, tell. */
  readonly effect: SideEffectClass | null;
  readonly recovery: RecoveryClass | null;
  /** What the server that it comes from says about it: hints. */
  readonly annotations: ToolAnnotations | null;
  readonly requiresIdempotencyKey: boolean;
  readonly inDoubt: "ask" | "tell";
  readonly identity: ((input: never) => Json) | null;
  readonly dedupe: "effect" | "call" | null;
  readonly approval: boolean | ((input: never) => ApprovalVerdict | Promise<ApprovalVerdict>);
  readonly exclusive: boolean;
  /** It reads and changes the session, and nothing else. */
  readonly isSessionTool: boolean;
  readonly timeoutMs: number;
  readonly landsWithinMs: number;
  readonly keyValidForMs: number;
  readonly secrets: readonly Secret[];
  readonly urls: ((input: never) => readonly string[]) | null;
  readonly execute: (input: never, call: ToolCallContext) => unknown;
  readonly reconcile: ((input: never, call: ToolCallContext) => unknown) | null;
  /** How the model is shown a result; null: as it is. Whoever calls the tool from code gets the result itself. */
  readonly present: ((shown: ShownResult) => ToolOutput | Promise<ToolOutput>) | null;
  /** They carry types, and no value. */
  readonly argumentsType?: (args: A) => void;
  readonly resultType?: O;
};

const MINUTE_MS = 60_000;

const DEFAULTS = {
  name: null,
  namespace: "local",
  server: null,
  ownName: null,
  output: null,
  effect: null,
  recovery: null,
  annotations: null,
  requiresIdempotencyKey: false,
  inDoubt: "ask",
  identity: null,
  dedupe: null,
  approval: false,
  exclusive: false,
  isSessionTool: false,
  timeoutMs: 10 * MINUTE_MS,
  landsWithinMs: MINUTE_MS,
  keyValidForMs: 24 * 60 * MINUTE_MS,
  secrets: [],
  urls: null,
  reconcile: null,
  present: null,
} as const satisfies Partial<Tool>;

/** A tool from its parts; for adapters that bring tools of another make. */
export function makeTool<A = never, O = unknown>(
  parts: Pick<Tool, "description" | "input" | "execute"> &
    Partial<Omit<Tool, typeof TOOL | "argumentsType" | "resultType">>,
): Tool<A, O> {
  return { ...DEFAULTS, ...parts, [TOOL]: true };
}

/**
 * A tool that an agent or a code step can call. Every call has a row in the ledger and a receipt.
 *
 * @example
 * const add = tool({
 *   description: "Add two numbers.",
 *   inputSchema: z.object({ a: z.number(), b: z.number() }),
 *   effect: "read_only",
 *   execute: ({ a, b }) => a + b,
 * });
 */
export function tool<I, O, A = unknown>(definition: ToolDefinition<I, O, A>): Tool<A, O> {
  assertDefinition(definition);
  const { inputSchema: _, outputSchema: __, ...rest } = definition;
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  return makeTool<A, O>({
    ...given,
    description: definition.description,
    input: zodInput(definition.inputSchema),
    output: definition.outputSchema ?? null,
    // Called on the definition, so that a method finds its `this`.
    execute: (input, call) => definition.execute(input, call),
    reconcile: given.reconcile === undefined ? null : (input, call) => definition.reconcile?.(input, call),
  });
}

export function isTool(value: unknown): value is Tool {
  return typeof value === "object" && value !== null && TOOL in value;
}

/** What the types say, for those who came without them. */
function assertDefinition<I, O, A>(definition: ToolDefinition<I, O, A>): void {
  const given: { readonly [name: string]: unknown } = { ...definition };
  const which = `The tool ${JSON.stringify(given.name ?? given.description ?? "without a name")}`;
  if (typeof given.description !== "string")
    throw new ConfigurationError(`${which} needs a description: say what it does.`);
  if (typeof definition.execute !== "function")
    throw new ConfigurationError(`${which} needs an execute function.`);
  if (typeof given.inputSchema !== "object" || given.inputSchema === null || !("_zod" in given.inputSchema))
    throw new ConfigurationError(`${which} needs an inputSchema: give it a zod schema, z.object({ … }).`);
  const { secrets = [] } = given;
  if (!Array.isArray(secrets) || !secrets.every(isSecret))
    throw new ConfigurationError(`${which} has secrets that are none: give a list of secret(…).`);
  for (const [what, allowed] of Object.entries(CHOICES)) assertOneOf(which, what, given[what], allowed);
  for (const [what, least] of Object.entries(DURATIONS)) assertDuration(which, what, given[what], least);
  if (given.recovery === "reconcile" && typeof definition.reconcile !== "function")
    throw new ConfigurationError(
      `${which} has recovery "reconcile" and no reconcile function: give it one that looks a call up.`,
    );
  zodJsonSchema(definition.inputSchema, `${which}: its inputSchema`);
}

const CHOICES: { readonly [option: string]: readonly string[] } = {
  effect: ["external", "memory", "local", "read_only"] satisfies SideEffectClass[],
  recovery: ["repeat", "keyed", "reconcile", "opaque"] satisfies RecoveryClass[],
  inDoubt: ["ask", "tell"],
  dedupe: ["effect", "call"],
};

function assertOneOf(which: string, what: string, value: unknown, allowed: readonly string[]): void {
  if (value === undefined || allowed.some((one) => one === value)) return;
  throw new ConfigurationError(`${which} has ${what} ${JSON.stringify(value)}: use ${allowed.join(", ")}.`);
}

/** Node's timers take no more milliseconds than this; given more, they go off at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

const DURATIONS = { timeoutMs: 1, landsWithinMs: 0, keyValidForMs: 0 } as const;

function assertDuration(which: string, what: string, value: unknown, least: number): void {
  if (value === undefined) return;
  const most = what === "timeoutMs" ? LONGEST_TIMEOUT_MS : Number.MAX_SAFE_INTEGER;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least && value <= most) return;
  throw new ConfigurationError(
    `${which} has ${what} ${JSON.stringify(value)}: give whole milliseconds from ${least} to ${most}.`,
  );
}
