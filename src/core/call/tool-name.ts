/** A tool's name, taken apart. */
export type ToolName = {
  /** The MCP server that `mcp__server__tool` or `server__tool` names; null where the name has no such part. */
  readonly server: string | null;
  readonly tool: string;
  /** Of the tool part alone: a server called `send-hub` sends nothing when its tool lists. */
  readonly tokens: readonly string[];
};

/** The first `__` ends the server's name, as in other clients: what a tool's own name may hold is not ours to limit. */
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

/** Products with a capital inside one word. Cut in two, ClickUp would click, and SendGrid would send. */
const ONE_WORD = /(?:ClickUp|DropBox|OAuth|PayPal|PostHog|SendGrid|WordPress)(?!\p{Ll})/gu;

const BOUNDARIES: readonly RegExp[] = [
  // sendEmail
  /(?<=\p{Ll})(?=\p{Lu})/gu,
  // HTTPRequest, but not the plural in listURLs
  /(?<=\p{Lu})(?=\p{Lu}(?!s(?!\p{Ll}))\p{Ll})/gu,
  // s3upload, s3Upload
  /(?<=\p{N})(?=\p{L})/gu,
  // send2User: digits belong to a letter or two (S3, EC2, v2), never to a word, which would not be found otherwise.
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

/** A set of words, or of names, as it is read best: written out with blanks between them. */
export function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/).filter((word) => word !== ""));
}
