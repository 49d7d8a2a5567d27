import type { ReconcileStatus, RecoveryClass, SideEffectClass } from "../../core/call/tool-call-decision.ts";
import type { ToolAnnotations } from "../../core/call/tool-classification.ts";
import { ConfigurationError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import type { ToolOutput } from "../../core/message.ts";
import {
  assertOptionsOrInstance,
  givenOptions,
  type OptionNames,
  type OtherNames,
} from "../../core/naming/option-names.ts";
import type { NetworkPolicy } from "../../core/network-policy.ts";
import { isSecret, type Secret } from "../../core/secret/secret.ts";
import type { AnySchema } from "../../core/standard-schema.ts";
import type { SessionView } from "../../session/session-view.ts";
import type { RunMetadata } from "../../store/store.ts";
import type { ArtifactAccess } from "./artifact-access.ts";
import { assertJsonSchema, isSchema, type ValueSchema, valueSchema } from "./value-schema.ts";

/** The second argument of a tool's `execute` and `reconcile`: the call that it serves. */
export interface ToolCallContext extends ArtifactAccess {
  /** What the run was started with, beside its input: `metadata` and `context`. */
  readonly run: RunFacts;
  readonly runId: string;
  readonly stepId: string;
  readonly stepName: string;
  readonly turnIndex: number;
  readonly toolCallId: string;
  /** 1 for the first attempt of the call; higher if an earlier one failed or was interrupted. */
  readonly attempt: number;
  /** The same for every attempt of this call. Pass it to the outside system, so that it can drop duplicates. */
  readonly idempotencyKey: string;
  readonly turnKey: string;
  readonly epoch: number;
  /** Aborts after `timeoutMs`, and when the run is cancelled or claimed by another worker. */
  readonly signal: AbortSignal;
  /**
   * The run's session at the time of this call. Events dispatched here are stored with the receipt, and take effect when
   * the call has succeeded and its turn is committed.
   */
  readonly session: SessionView;
  /** The W3C trace headers of this attempt, for outgoing requests; empty if nothing is traced. */
  readonly traceHeaders: { readonly [name: string]: string };
  /** The hosts that the run may connect to. `guardedFetch(call)` enforces them. */
  readonly network: NetworkPolicy;
  /**
   * The text without the run's secrets. Results and errors of a tool are redacted anyway; call this before you truncate a
   * text, since half of a secret is not recognised. If the text is already part of a longer one, `torn` names the cut ends.
   */
  hide(text: string, torn?: { readonly start?: boolean; readonly end?: boolean }): string;
  /** `hide` for a text of megabytes: yields to the event loop while it works. */
  hideLong(text: string, torn?: { readonly start?: boolean; readonly end?: boolean }): Promise<string>;
  /**
   * Stores the outside system's id of this effect (a message id, a request id), with the receipt and for `reconcile`.
   * It is durable once the promise resolves, so await it. The last id counts.
   */
  correlate(id: string): Promise<void>;
  /**
   * The id that `correlate` stored in this attempt; in `reconcile`, in the attempt that is in doubt. Null if there is
   * none: ids of earlier attempts do not count.
   */
  readonly correlationId: string | null;
}

/** What the caller of a run has said about it. It never changes, and is not part of any prompt. */
export type RunFacts = {
  /** What the run can be found by: a tenant, a customer, tags; empty if nothing was given. */
  readonly metadata: RunMetadata;
  /** For its tools: who the customer is. Null if nothing was given. `runContext(schema)` reads it with its type. */
  readonly context: Json;
};

/** The result of looking up a call whose outcome is unknown. */
export type Reconciliation<O> =
  | { readonly status: "done"; readonly result: O }
  | { readonly status: Exclude<ReconcileStatus, "done"> };

/** The argument of `tool({ … })`. `I` is the input of `execute`, `A` the arguments before they are parsed. */
export interface ToolDefinition<I, O, A = unknown> {
  /** By default the key in the agent's `tools`. Required for a tool that a code step calls. */
  readonly name?: string;
  /** A prefix for rules, `namespace:tool`; `"local"` by default. */
  readonly namespace?: string;
  /** What the tool does, for the model. */
  readonly description: string;
  /**
   * The schema of its arguments; a call whose arguments do not fit does not run. A schema of zod, or of any library that
   * follows Standard Schema and can give a JSON Schema; or `jsonSchema(…)` of the AI SDK.
   */
  readonly inputSchema: AnySchema<I, A>;
  /** The schema of its result, which needs no JSON Schema. A result that does not fit is a failure. */
  readonly outputSchema?: AnySchema<O>;
  /** The kind of change that the tool makes. By default derived from its name; `external` if the name is not known. */
  readonly effect?: SideEffectClass;
  /**
   * The treatment of a call with an unknown outcome: `repeat` runs it again, `keyed` runs it again with the same key,
   * `reconcile` looks it up, `opaque` asks a person. By default `repeat` for read-only tools, else `opaque`.
   */
  readonly recovery?: RecoveryClass;
  /** The payload must carry the call's key: the input schema needs an `idempotencyKey` property. False by default. */
  readonly requiresIdempotencyKey?: boolean;
  /** Who gets an unknown outcome: a person (`ask`, the default), or the model (`tell`), which can look for itself. */
  readonly inDoubt?: "ask" | "tell";
  /** The arguments that make two calls the same effect. It then happens once in a run, unless `dedupe` is `call`. */
  readonly identity?: (input: I) => Json;
  /**
   * `effect`: each effect once in a run, whichever step asks. `call`: every call runs. By default `effect` for a tool that has
   * an `identity`, or whose name says that it sends mail (`send_mail`), uploads (`upload_file`) or adds to a memory, else
   * `call`. Without an `identity`, two mails are the same if recipients, subject and attachments are, whatever their text;
   * two uploads by path and destination; two memories by kind, scope and content. A call that does not run because of that,
   * although its arguments differ, is a `warning`.
   */
  readonly dedupe?: "effect" | "call";
  /** Calls that need a person's approval: all, or those for which the function returns true. By default none. */
  readonly approval?: boolean | ((input: I) => ApprovalVerdict | Promise<ApprovalVerdict>);
  /**
   * Who gives that approval: an operator, by default, or `"user"`, the person in the chat that the call was made for. A rule
   * of the policy that matches the tool always asks an operator.
   */
  readonly approver?: Approver;
  /** Never runs in parallel with another call of its turn. False by default. */
  readonly exclusive?: boolean;
  /** The time limit of one attempt; 600,000 ms by default. */
  readonly timeoutMs?: number;
  /** How long after its end an attempt may still take effect outside; 60,000 ms by default. */
  readonly landsWithinMs?: number;
  /** How long the outside system remembers a key; 86,400,000 ms (24 hours) by default. */
  readonly keyValidForMs?: number;
  /** Secrets of the tool, such as an API key: hidden in everything that the run stores, emits or throws. */
  readonly secrets?: readonly Secret[];
  /** The URLs that a call connects to. They are checked against the run's `allowedDomains` before it runs. */
  readonly urls?: (input: I) => readonly string[];
  /** Does the work. It runs again only as `recovery` allows. */
  execute(input: I, call: ToolCallContext): Promise<O> | O;
  /** Asks the outside system whether a call happened. It must not change anything. */
  reconcile?(input: I, call: ToolCallContext): Promise<Reconciliation<O>> | Reconciliation<O>;
}

/**
 * `recovery: "reconcile"` requires `reconcile`. A recovery class that is only known at run time is checked there. `R` is a
 * type parameter of `tool`, since a union of definitions would refuse those classes and make every other error unreadable.
 */
type LookUpRule<R extends RecoveryClass, D extends { reconcile?: unknown }> = [R] extends ["reconcile"]
  ? { readonly reconcile: NonNullable<D["reconcile"]> }
  : unknown;

/** The person who approves the calls of a tool. */
type Approver = "operator" | "user";

/** True if a call needs a person's approval; `denied` is the reason why it must not run at all. */
export type ApprovalVerdict = boolean | { readonly denied: string };

/** A result, and the call that returned it. */
export type ShownResult = {
  readonly toolCallId: string;
  readonly input: unknown;
  readonly result: unknown;
};

const TOOL = Symbol.for("pawl.tool");

/** A tool as the engine uses it. `A` and `O` are the argument and the result of `ctx.call`. */
export type Tool<A = never, O = unknown> = {
  readonly [TOOL]: true;
  readonly name: string | null;
  readonly namespace: string;
  /** The MCP server of the tool; null if it has none. */
  readonly server: string | null;
  /** The tool's name on that server; null if it has none. */
  readonly ownName: string | null;
  readonly description: string;
  readonly input: ValueSchema;
  readonly output: Pick<ValueSchema, "parse"> | null;
  /** Null: derived from its name and the policy. */
  readonly effect: SideEffectClass | null;
  readonly recovery: RecoveryClass | null;
  /** The hints of its MCP server. */
  readonly annotations: ToolAnnotations | null;
  readonly requiresIdempotencyKey: boolean;
  readonly inDoubt: "ask" | "tell";
  readonly identity: ((input: never) => Json) | null;
  readonly dedupe: "effect" | "call" | null;
  readonly approval: boolean | ((input: never) => ApprovalVerdict | Promise<ApprovalVerdict>);
  readonly approver: Approver;
  readonly exclusive: boolean;
  /** True if it reads and changes the session, and nothing else. */
  readonly isSessionTool: boolean;
  readonly timeoutMs: number;
  readonly landsWithinMs: number;
  readonly keyValidForMs: number;
  readonly secrets: readonly Secret[];
  readonly urls: ((input: never) => readonly string[]) | null;
  readonly execute: (input: never, call: ToolCallContext) => unknown;
  readonly reconcile: ((input: never, call: ToolCallContext) => unknown) | null;
  /** Converts a result for the model; null: unchanged. Code that calls the tool gets the result itself. */
  readonly present: ((shown: ShownResult) => ToolOutput | Promise<ToolOutput>) | null;
  /** Types only: never have a value. */
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
  approver: "operator",
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

/** Makes a tool from its parts; for adapters of other tool formats. */
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
export function tool<I, O, A = I, R extends RecoveryClass = RecoveryClass>(
  definition: ToolDefinition<I, O, A> & { readonly recovery?: R } & LookUpRule<R, ToolDefinition<I, O, A>>,
): Tool<A, O> {
  assertDefinition(definition);
  return builtInTool(definition);
}

/** `tool` for Pawl's own tools, which need no check at run time: it would be a part of every start. */
export function builtInTool<I, O, A = I>(definition: ToolDefinition<I, O, A>): Tool<A, O> {
  const { inputSchema, outputSchema, ...given } = givenOptions(definition, TOOL_OPTIONS);
  const { approval, identity, urls } = given;
  return makeTool<A, O>({
    ...given,
    input: valueSchema(inputSchema),
    output: outputSchema === undefined ? null : valueSchema(outputSchema),
    // Called on the definition, so that a method has its `this`.
    execute: (input, call) => definition.execute(input, call),
    reconcile: "reconcile" in given ? (input, call) => definition.reconcile?.(input, call) : null,
    approval:
      typeof approval === "function" ? (input) => approval.call(definition, input) : (approval ?? false),
    identity: identity === undefined ? null : (input) => identity.call(definition, input),
    urls: urls === undefined ? null : (input) => urls.call(definition, input),
  });
}

export function isTool(value: unknown): value is Tool {
  return typeof value === "object" && value !== null && TOOL in value;
}

/** Checks at run time what the types check, for callers without types. */
function assertDefinition<I, O, A>(definition: ToolDefinition<I, O, A>): void {
  const isObject = typeof definition === "object" && definition !== null;
  const given: { readonly [name: string]: unknown } = {
    ...(isObject ? givenOptions(definition, TOOL_OPTIONS) : {}),
  };
  const which = `The tool ${JSON.stringify(given.name ?? given.description ?? "without a name")}`;
  assertOptionsOrInstance(which, definition, TOOL_OPTIONS, OTHER_TOOL_OPTIONS);
  if (typeof given.description !== "string")
    throw new ConfigurationError(`${which} needs a description: say what it does.`);
  if (typeof definition.execute !== "function")
    throw new ConfigurationError(`${which} needs an execute function.`);
  if (!isSchema(given.inputSchema))
    throw new ConfigurationError(`${which} needs an inputSchema: give it a zod schema, z.object({ … }).`);
  const { secrets = [] } = given;
  if (!Array.isArray(secrets) || !secrets.every(isSecret))
    throw new ConfigurationError(`${which} has secrets that are not secrets: give a list of secret(…).`);
  for (const [what, allowed] of Object.entries(CHOICES)) assertOneOf(which, what, given[what], allowed);
  for (const [what, least] of Object.entries(DURATIONS)) assertDuration(which, what, given[what], least);
  if (given.recovery === "reconcile" && typeof definition.reconcile !== "function")
    throw new ConfigurationError(
      `${which} has recovery "reconcile" and no reconcile function: give it one that looks a call up.`,
    );
  const { approval = false } = given;
  if (typeof approval !== "boolean" && typeof approval !== "function")
    throw new ConfigurationError(
      `${which} has approval ${JSON.stringify(approval)}: give true, or a function of its input, ({ amount }) => amount > 100.`,
    );
  assertJsonSchema(valueSchema(definition.inputSchema, `${which}: its inputSchema`));
}

const TOOL_OPTIONS = {
  name: true,
  namespace: true,
  description: true,
  inputSchema: true,
  outputSchema: true,
  effect: true,
  recovery: true,
  requiresIdempotencyKey: true,
  inDoubt: true,
  identity: true,
  dedupe: true,
  approval: true,
  approver: true,
  exclusive: true,
  timeoutMs: true,
  landsWithinMs: true,
  keyValidForMs: true,
  secrets: true,
  urls: true,
  execute: true,
  reconcile: true,
} satisfies OptionNames<ToolDefinition<unknown, unknown>>;

const SDK_TOOL = "it belongs to the AI SDK's own tool({ … }), which an agent takes as it is.";

const OTHER_TOOL_OPTIONS: OtherNames = {
  parameters: "inputSchema",
  schema: "inputSchema",
  handler: "execute",
  run: "execute",
  func: "execute",
  needsApproval: "approval",
  sideEffects: "effect",
  idempotent: "recovery",
  retries: "maxRetriesPerToolCall of the Runner",
  toModelOutput: SDK_TOOL,
  strict: SDK_TOOL,
  providerOptions: SDK_TOOL,
};

const CHOICES: { readonly [option: string]: readonly string[] } = {
  effect: ["external", "memory", "local", "read_only"] satisfies SideEffectClass[],
  recovery: ["repeat", "keyed", "reconcile", "opaque"] satisfies RecoveryClass[],
  inDoubt: ["ask", "tell"],
  dedupe: ["effect", "call"],
  approver: ["operator", "user"] satisfies Approver[],
};

function assertOneOf(which: string, what: string, value: unknown, allowed: readonly string[]): void {
  if (value === undefined || allowed.some((one) => one === value)) return;
  throw new ConfigurationError(`${which} has ${what} ${JSON.stringify(value)}: use ${allowed.join(", ")}.`);
}

/** Node's timers take no more milliseconds than this; given more, they fire at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

const DURATIONS = { timeoutMs: 1, landsWithinMs: 0, keyValidForMs: 0 } as const;

function assertDuration(which: string, what: string, value: unknown, least: number): void {
  if (value === undefined) return;
  const most = what === "timeoutMs" ? MAX_TIMEOUT_MS : Number.MAX_SAFE_INTEGER;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least && value <= most) return;
  throw new ConfigurationError(
    `${which} has ${what} ${JSON.stringify(value)}: give whole milliseconds from ${least} to ${most}.`,
  );
}
