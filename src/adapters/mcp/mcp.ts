import { resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { matchesAction } from "../../core/call/action-pattern.ts";
import type { ToolAnnotations } from "../../core/call/tool-classification.ts";
import { ConfigurationError, FinalFailure } from "../../core/errors.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import { sizeOf } from "../../core/json-schema-check.ts";
import { assertOptions, givenOptions, type OptionNames } from "../../core/naming/option-names.ts";
import { checkUrl, type NetworkPolicy } from "../../core/network-policy.ts";
import {
  makeTool,
  type Tool,
  type ToolCallContext,
  type ToolDefinition,
  tool,
} from "../../engine/definition/tool.ts";
import {
  makeToolSource,
  type OpenTools,
  type SourceOpening,
  type ToolSource,
} from "../../engine/definition/tool-source.ts";
import { callMcpTool, type PinnedTool } from "./mcp-call.ts";
import { type ConnectionUser, McpConnection } from "./mcp-connection.ts";
import { type McpTool, type McpTools, NoLinkError } from "./mcp-link.ts";
import { shownResult } from "./mcp-result.ts";
import { secretsOf } from "./mcp-secrets.ts";
import { type McpServer, type ServerAddress, shownServer } from "./mcp-server.ts";
import { mcpToolInput } from "./mcp-tool-input.ts";
import { modelNames } from "./mcp-tool-names.ts";

export type { McpServer } from "./mcp-server.ts";

/** Settings of a tool that its server does not declare; as in `tool({ … })`. */
export type McpToolOptions = Pick<
  ToolDefinition<JsonObject, unknown>,
  | "effect"
  | "recovery"
  | "requiresIdempotencyKey"
  | "inDoubt"
  | "identity"
  | "dedupe"
  | "approval"
  | "exclusive"
  | "timeoutMs"
  | "landsWithinMs"
  | "keyValidForMs"
  | "reconcile"
>;

/** Options of `mcpTools` apart from the server. */
export type McpOptions = {
  /** The prefix of its tools' names; by default, its key in `tools`. */
  readonly name?: string;
  /** Only these of its tools, by the server's own names; `*` matches anything. By default all. */
  readonly only?: readonly string[];
  /** The timeout of a call; 600,000 ms by default. */
  readonly timeoutMs?: number;
  /** Overrides of the server's hints, by the server's own name of the tool. */
  readonly tools?: { readonly [tool: string]: McpToolOptions };
};

/** The timeout of the handshake: `npx` may have to download the server first. */
const HANDSHAKE_MS = 60_000;

/**
 * The tools of an MCP server, for an agent. Nothing is started before a run reaches that agent. Concurrent users of the same
 * source share one connection, and the server is stopped when the last of them is done.
 *
 * @example
 * const files = mcpTools({ command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] });
 * agent({ name: "clerk", model, tools: { files } }); // files__read_text_file, files__write_file, …
 */
export function mcpTools(server: McpServer & McpOptions): ToolSource {
  assertServer(server);
  const connection = new McpConnection(server, HANDSHAKE_MS);
  const secrets = secretsOf(server);
  return makeToolSource({
    name: server.name ?? null,
    places: placesOf(server),
    open: (name, opening) => {
      opening.learnSecrets(secrets);
      return openTools(name, { server, connection }, opening);
    },
  });
}

/** The paths among its arguments: a filesystem server gets its folders there. */
function placesOf(server: McpServer): readonly string[] {
  if ("url" in server) return [];
  const { args = [], cwd = "." } = server;
  return args.filter((arg) => !arg.startsWith("-")).map((arg) => resolve(cwd, arg));
}

type SharedServer = {
  readonly server: McpServer & McpOptions;
  readonly connection: McpConnection;
};

async function openTools(
  name: string,
  { server, connection }: SharedServer,
  { signal, network, warn, hide, hideTexts }: SourceOpening,
): Promise<OpenTools> {
  const serverName = `MCP server ${name} (${shownServer(server)})`;
  assertMayBeOpened(server, serverName, network);
  const user = connectionUser(serverName, hide, warn);
  connection.join(user);
  try {
    const link = await connection.link(signal);
    const listed = await link.tools(signal);
    assertNoSecretNames(serverName, listed, hide);
    assertNamed(name, serverName, server, listed);
    const onChanged = once(warn);
    const chosen = [...listed.values()].filter(({ listed: { name: each } }) =>
      isChosen(server.only, name, each),
    );
    const names = modelNames(name, [...listed.keys()]);
    const tools: { [name: string]: Tool } = {};
    for (const each of chosen) {
      assertSmall(serverName, each);
      const pinned: PinnedTool = { ...each, connection, serverName, onChanged };
      const shown = shownTool(each, hideTexts);
      tools[names.get(each.listed.name) ?? each.listed.name] = toolOf(name, server, pinned, shown);
      // There may be many tools: other work gets its turn.
      await setImmediate();
    }
    return { tools, close: () => connection.leave(user) };
  } catch (error) {
    await connection.leave(user);
    if (!(error instanceof NoLinkError)) throw error;
    throw new ConfigurationError(`The ${serverName} ${error.message}.`, {}, { cause: error });
  }
}

function connectionUser(
  serverName: string,
  hide: SourceOpening["hide"],
  warn: SourceOpening["warn"],
): ConnectionUser {
  let hasWarned = false;
  return {
    hide,
    onIgnored: (what, text) => {
      if (hasWarned) return;
      hasWarned = true;
      const beginning = text.slice(0, LONGEST_READ);
      const shown = hide(beginning, { end: beginning.length < text.length });
      warn(`The ${serverName} ${what}; it was ignored: ${excerpt(shown, text.length)}`);
    },
  };
}

/** Enough to show some of it after its secrets are hidden. */
const LONGEST_READ = 4_096;
const LONGEST_EXCERPT = 100;

function excerpt(text: string, length: number): string {
  const isWhole = text.length <= LONGEST_EXCERPT && length <= LONGEST_READ;
  return JSON.stringify(isWhole ? text : `${text.slice(0, LONGEST_EXCERPT)}…`);
}

function once(warn: SourceOpening["warn"]): SourceOpening["warn"] {
  let hasWarned = false;
  return (message) => {
    if (hasWarned) return;
    hasWarned = true;
    warn(message);
  };
}

/** What the model sees of a tool. */
type ShownTool = { readonly description: string; readonly inputSchema: McpTool["listed"]["inputSchema"] };

/** A server may leak its secrets here as in a result. They are hidden before the text is cut. */
function shownTool({ listed }: McpTool, hideTexts: SourceOpening["hideTexts"]): ShownTool {
  return {
    description: shortened(hideTexts(listed.description ?? listed.title ?? "")),
    inputSchema: hideTexts(listed.inputSchema as JsonObject) as ShownTool["inputSchema"],
  };
}

/** A secret in a tool's name cannot be hidden: the tool is called by that name. */
function assertNoSecretNames(serverName: string, listed: McpTools, hide: SourceOpening["hide"]): void {
  if ([...listed.keys()].every((name) => hide(name) === name)) return;
  throw new ConfigurationError(
    `The ${serverName} lists a tool whose name contains one of its secrets: it is not used. Have it choose other names, and give it another secret.`,
  );
}

function toolOf(
  name: string,
  server: McpServer & McpOptions,
  pinned: PinnedTool,
  { description, inputSchema }: ShownTool,
): Tool {
  const { listed } = pinned;
  const execute: Execute = async (input: JsonObject, call) => {
    assertAllowed(server, pinned, call);
    return callMcpTool(pinned, input, call);
  };
  return makeTool({
    ...declaredTool(listed.name, description, server, execute),
    name: null,
    namespace: "mcp",
    server: name,
    ownName: listed.name,
    input: mcpToolInput(inputSchema, pinned.serverName),
    annotations: annotationsOf(pinned),
    urls: hasPublicAddress(server) ? () => [String(server.url)] : null,
    present: shownResult,
  });
}

const ANY_PUBLIC_HOST: NetworkPolicy = { allowedDomains: [], allowPrivateAddresses: false };

function hasPublicAddress(server: McpServer): server is ServerAddress {
  return "url" in server && checkUrl(ANY_PUBLIC_HOST, server.url).ok;
}

/** Checked before the handshake, which already sends the headers. */
function assertMayBeOpened(server: McpServer, serverName: string, network: NetworkPolicy): void {
  const why = whyForbidden(server, network);
  if (why === null) return;
  throw new ConfigurationError(
    `Nothing was sent to the ${serverName}: ${why.charAt(0).toLowerCase()}${why.slice(1)}`,
  );
}

function assertAllowed(server: McpServer, { serverName }: PinnedTool, { network }: ToolCallContext): void {
  const why = whyForbidden(server, network);
  if (why !== null)
    throw new FinalFailure(`Nothing was sent to the ${serverName}. ${why}`, { applied: false });
}

/** A private address is in the configuration, so it is allowed; the run's `allowedDomains` still apply. */
function whyForbidden(server: McpServer, network: NetworkPolicy): string | null {
  if (!("url" in server)) return null;
  const verdict = checkUrl({ ...network, allowPrivateAddresses: true }, server.url);
  return verdict.ok ? null : verdict.why;
}

type Execute = ToolDefinition<JsonObject, unknown>["execute"];

/** With the options for it, which are validated like any tool's definition. */
function declaredTool(
  name: string,
  description: string,
  { timeoutMs, tools = {} }: McpOptions,
  execute: Execute,
): Tool {
  return tool<JsonObject, unknown>({
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(Object.hasOwn(tools, name) ? givenOptions(tools[name] ?? {}, TOOL_NAMES) : {}),
    name,
    description,
    inputSchema: z.any(),
    execute,
  });
}

/** The hints of the server; the engine decides what they count for. */
function annotationsOf({ listed: { annotations = {} } }: McpTool): ToolAnnotations {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
  const hints = { readOnlyHint, destructiveHint, idempotentHint, openWorldHint };
  return Object.fromEntries(Object.entries(hints).filter(([, hint]) => typeof hint === "boolean"));
}

function isChosen(only: McpOptions["only"], server: string, name: string): boolean {
  return only === undefined || matchesAction(only, { name, namespace: "mcp", server }) !== null;
}

/** Refuses names of tools that the server does not have: a misspelled one would silently lose its options and approval. */
function assertNamed(
  source: string,
  serverName: string,
  { only = [], tools = {} }: McpOptions,
  listed: McpTools,
): void {
  const names = [...listed.keys()];
  const missing =
    Object.keys(tools).find((name) => !listed.has(name)) ??
    only.find((pattern) => !names.some((name) => isChosen([pattern], source, name)));
  if (missing === undefined) return;
  throw new ConfigurationError(
    `The ${serverName} has no tool ${JSON.stringify(missing)}: it has ${names.join(", ") || "none"}.`,
  );
}

/** A schema is sent to the model in every turn. */
const LARGEST_SCHEMA = 64 * 1024;
const MOST_SCHEMA_VALUES = 4_000;

function assertSmall(serverName: string, { listed }: McpTool): void {
  const bytes = Buffer.byteLength(JSON.stringify(listed.inputSchema));
  const isSimple = sizeOf(listed.inputSchema as Json, MOST_SCHEMA_VALUES) !== null;
  if (bytes <= LARGEST_SCHEMA && isSimple) return;
  const size = isSimple
    ? `${bytes} bytes, and the maximum is ${LARGEST_SCHEMA}`
    : `more than ${MOST_SCHEMA_VALUES} values, the maximum`;
  throw new ConfigurationError(
    `The tool ${JSON.stringify(listed.name)} of the ${serverName} has an input schema of ${size}: leave the tool out with \`only\`, or have the server describe it in fewer words.`,
  );
}

const LONGEST_DESCRIPTION = 16_000;

/** A description is sent in every turn, too. */
function shortened(description: string): string {
  const rest = description.length - LONGEST_DESCRIPTION;
  if (rest <= 0) return description;
  return `${description.slice(0, LONGEST_DESCRIPTION).toWellFormed()} [${rest} more characters were cut]`;
}

const SERVER_NAMES = {
  command: true,
  args: true,
  env: true,
  cwd: true,
  url: true,
  headers: true,
  private: true,
  name: true,
  only: true,
  timeoutMs: true,
  tools: true,
} satisfies OptionNames<McpServer & McpOptions>;

const TOOL_NAMES = {
  effect: true,
  recovery: true,
  requiresIdempotencyKey: true,
  inDoubt: true,
  identity: true,
  dedupe: true,
  approval: true,
  exclusive: true,
  timeoutMs: true,
  landsWithinMs: true,
  keyValidForMs: true,
  reconcile: true,
} satisfies OptionNames<McpToolOptions>;

/** Checks what the types require, for callers without types. */
function assertServer(server: McpServer & McpOptions): void {
  assertOptions("mcpTools", server, SERVER_NAMES, { transport: "command, or url", allow: "only" });
  const given: { readonly [option: string]: unknown } = { ...server };
  const hasCommand = typeof given.command === "string" && given.command !== "";
  if (hasCommand === (given.url !== undefined))
    throw new ConfigurationError(
      "mcpTools needs the server's command, or its url, and not both: mcpTools({ command: … }).",
    );
  if ("url" in server && !/^https?:$/.test(URL.parse(String(server.url))?.protocol ?? ""))
    throw new ConfigurationError("mcpTools needs a url that begins with http:// or https://.");
  if ("url" in server && /\S/.test(new URL(server.url).username + new URL(server.url).password))
    throw new ConfigurationError("mcpTools takes no url with a user name or password: give them in headers.");
  const nothing = () => undefined;
  for (const [name, options] of Object.entries(server.tools ?? {}))
    assertOptions(`mcpTools' tools.${name}`, options, TOOL_NAMES);
  for (const name of ["any of its tools", ...Object.keys(server.tools ?? {})])
    declaredTool(name, "", server, nothing);
}
