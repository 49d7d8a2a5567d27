/** A tool's name, parsed. */
export type ToolName = {
  /** The MCP server in `mcp__server__tool` or `server__tool`; null if the name has no such part. */
  readonly server: string | null;
  readonly tool: string;
  /** The words of the tool part alone: a server called `send-hub` sends nothing when its tool lists. */
  readonly tokens: readonly string[];
};

/** The longest tool name that all providers accept. */
export const LONGEST_TOOL_NAME = 64;

/** The name with the characters replaced that providers refuse. */
export function providerToolName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
}

/** The first `__` ends the server's name, as in other clients: Pawl does not restrict what a tool's own name contains. */
const WITH_SERVER = /^(?:mcp__)?(?<server>.+?)__(?<tool>.+)$/isu;

/**
 * @example
 * parseToolName("mcp__composio__GMAIL_SEND_EMAIL");
 * // { server: "composio", tool: "GMAIL_SEND_EMAIL", tokens: ["GMAIL", "SEND", "EMAIL"] }
 */
export function parseToolName(name: string): ToolName {
  const { server = null, tool = name } = WITH_SERVER.exec(name)?.groups ?? {};
  return { server, tool, tokens: tokensOf(tool) };
}

/** Products with a capital inside one word. Split in two, ClickUp would click, and SendGrid would send. */
const ONE_WORD = /(?:ClickUp|DropBox|OAuth|PayPal|PostHog|SendGrid|WordPress)(?!\p{Ll})/gu;

const BOUNDARIES: readonly RegExp[] = [
  // sendEmail
  /(?<=\p{Ll})(?=\p{Lu})/gu,
  // HTTPRequest, but not the plural in listURLs
  /(?<=\p{Lu})(?=\p{Lu}(?!s(?!\p{Ll}))\p{Ll})/gu,
  // s3upload, s3Upload
  /(?<=\p{N})(?=\p{L})/gu,
  // send2User: digits belong to one or two letters (S3, EC2, v2), never to a whole word, which would not be recognized.
  /(?<=\p{L}{3})(?=\p{N})/gu,
];

/**
 * The words of a name in upper case, whatever its style. They are compared whole, so POSTGRES is no POST.
 *
 * @example
 * tokensOf("getHTTPRequest"); // ["GET", "HTTP", "REQUEST"]
 */
export function tokensOf(name: string): readonly string[] {
  const whole = name.replace(ONE_WORD, (word) => word.charAt(0) + word.slice(1).toLowerCase());
  const cut = BOUNDARIES.reduce((text, boundary) => text.replace(boundary, " "), whole);
  return cut
    .split(/[^\p{L}\p{N}]+/u)
    .filter((token) => token !== "")
    .map((token) => token.toUpperCase());
}

/** A set of words or names, written with spaces between them for readability. */
export function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/).filter((word) => word !== ""));
}
