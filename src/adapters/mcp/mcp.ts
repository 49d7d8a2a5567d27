import { resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { matchesAction } from "../../core/call/action-pattern.ts";
import type { ToolAnnotations } from "../../core/call/tool-classification.ts";
import { ConfigurationError, FinalFailure } from "../../core/errors.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import { sizeOf } from "../../core/json-schema-check.ts";
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

/** What is known of a tool and its server does not say; as in `tool({ … })`. */
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

export type McpOptions = {
  /** What its tools' names begin with; unless said, the key that it stands under. */
  readonly name?: string;
  /** Only these of its tools, by the server's own names; `*` stands for anything. */
  readonly only?: readonly string[];
  /** The longest that a call may take; ten minutes unless said otherwise. */
  readonly timeoutMs?: number;
  /** What is known better than its hints say, by the server's own name of the tool. */
  readonly tools?: { readonly [tool: string]: McpToolOptions };
};

/** The longest that a server may take to shake hands: `npx` may have to fetch it first. */
const HANDSHAKE_MS = 60_000;

/**
 * The tools of an MCP server, for an agent. Nothing is started before a run comes to that agent; all that use the same
 * source at the same time share one connection, and the server is gone when the last of them is done.
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

/** What a filesystem server may work in stands among its arguments. */
function placesOf(server: McpServer): readonly string[] {
  if ("url" in server) return [];
  const { args = [], cwd = "." } = server;
  return args.filter((arg) => !arg.startsWith("-")).map((arg) => resolve(cwd, arg));
}

type Source = {
  readonly server: McpServer & McpOptions;
  readonly connection: McpConnection;
};

async function openTools(
  name: string,
  { server, connection }: Source,
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
      tools[names.get(each.listed.name) ?? each.listed.name] = toolOf(
        name,
        server,
        pinned,
        toldOf(each, hideTexts),
      );
      // There may be many of them, and the process has other things to do.
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
  let isSaid = false;
  return {
    hide,
    onPassedOver: (what, text) => {
      if (isSaid) return;
      isSaid = true;
      const beginning = text.slice(0, LONGEST_READ);
      const shown = hide(beginning, { end: beginning.length < text.length });
      warn(`The ${serverName} ${what}, and it is passed over: ${excerpt(shown, text.length)}`);
    },
  };
}

/** Enough to show some of it when its secrets are hidden. */
const LONGEST_READ = 4_096;
const LONGEST_EXCERPT = 100;

function excerpt(text: string, length: number): string {
  const isWhole = text.length <= LONGEST_EXCERPT && length <= LONGEST_READ;
  return JSON.stringify(isWhole ? text : `${text.slice(0, LONGEST_EXCERPT)}…`);
}

function once(warn: SourceOpening["warn"]): SourceOpening["warn"] {
  let isSaid = false;
  return (message) => {
    if (isSaid) return;
    isSaid = true;
    warn(message);
  };
}

/** What a model is told of a tool. */
type ToldTool = { readonly description: string; readonly inputSchema: McpTool["listed"]["inputSchema"] };

/** A server may say what it was given, here as in a result. Hidden before it is cut. */
function toldOf({ listed }: McpTool, hideTexts: SourceOpening["hideTexts"]): ToldTool {
  return {
    description: shortened(hideTexts(listed.description ?? listed.title ?? "")),
    inputSchema: hideTexts(listed.inputSchema as JsonObject) as ToldTool["inputSchema"],
  };
}

/** A tool is called by its name, so that nothing can stand in the place of a part of it. */
function assertNoSecretNames(serverName: string, listed: McpTools, hide: SourceOpening["hide"]): void {
  if ([...listed.keys()].every((name) => hide(name) === name)) return;
  throw new ConfigurationError(
    `The ${serverName} lists a tool whose name holds a secret that it was given: it is not used. Have it choose other names, and give it another secret.`,
  );
}

function toolOf(
  name: string,
  server: McpServer & McpOptions,
  pinned: PinnedTool,
  { description, inputSchema }: ToldTool,
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

/** A shake of hands already sends the headers. */
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

/** A private address was written down by whoever made the agent, and is meant; but the run may have a say in it too. */
function whyForbidden(server: McpServer, network: NetworkPolicy): string | null {
  if (!("url" in server)) return null;
  const verdict = checkUrl({ ...network, allowPrivateAddresses: true }, server.url);
  return verdict.ok ? null : verdict.why;
}

type Execute = ToolDefinition<JsonObject, unknown>["execute"];

/** With what was said of it, which is looked at as any tool's definition is. */
function declaredTool(
  name: string,
  description: string,
  { timeoutMs, tools = {} }: McpOptions,
  execute: Execute,
): Tool {
  return tool<JsonObject, unknown>({
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(Object.hasOwn(tools, name) ? tools[name] : {}),
    name,
    description,
    inputSchema: z.any(),
    execute,
  });
}

/** Hints: what they count for is not decided here. */
function annotationsOf({ listed: { annotations = {} } }: McpTool): ToolAnnotations {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
  const hints = { readOnlyHint, destructiveHint, idempotentHint, openWorldHint };
  return Object.fromEntries(Object.entries(hints).filter(([, hint]) => typeof hint === "boolean"));
}

function isChosen(only: McpOptions["only"], server: string, name: string): boolean {
  return only === undefined || matchesAction(only, { name, namespace: "mcp", server }) !== null;
}

/** A tool that was misspelled would lose what was said of it, its approval included, and nobody would notice. */
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

/** A schema goes to the model in every turn. */
const LARGEST_SCHEMA = 64 * 1024;
const MOST_SCHEMA_VALUES = 4_000;

function assertSmall(serverName: string, { listed }: McpTool): void {
  const bytes = Buffer.byteLength(JSON.stringify(listed.inputSchema));
  const isSimple = sizeOf(listed.inputSchema as Json, MOST_SCHEMA_VALUES) !== null;
  if (bytes <= LARGEST_SCHEMA && isSimple) return;
  const size = isSimple
    ? `${bytes} bytes, and ${LARGEST_SCHEMA}`
    : `more than ${MOST_SCHEMA_VALUES} values, which`;
  throw new ConfigurationError(
    `The tool ${JSON.stringify(listed.name)} of the ${serverName} has an input schema of ${size} is the most: leave the tool out with \`only\`, or have the server describe it in fewer words.`,
  );
}

const LONGEST_DESCRIPTION = 16_000;

/** So does a description. */
function shortened(description: string): string {
  const rest = description.length - LONGEST_DESCRIPTION;
  if (rest <= 0) return description;
  return `${description.slice(0, LONGEST_DESCRIPTION).toWellFormed()} [${rest} more characters were cut]`;
}

/** What the types say, for those who came without them. */
function assertServer(server: McpServer & McpOptions): void {
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
  for (const name of ["any of its tools", ...Object.keys(server.tools ?? {})])
    declaredTool(name, "", server, nothing);
}
