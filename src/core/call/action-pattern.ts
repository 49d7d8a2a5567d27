import { ConfigurationError } from "../errors.ts";
import { memoized } from "../memoized.ts";
import { comparableText } from "../visible-text.ts";
import { parseToolName } from "./tool-name.ts";

/** A tool, by all of its names. */
export type NamedTool = {
  /** The name that the model uses. */
  readonly name: string;
  readonly namespace: string;
  /** The MCP server that it comes from, and its name on that server. */
  readonly server?: string | null;
  readonly ownName?: string | null;
};

/**
 * The first pattern that matches a tool, or null. For rules that forbid, ask or warn, where matching one tool too many is
 * better than one too few. A pattern is compared with every name of the tool: the model's, its server's own, and the qualified
 * ones (`server/tool`, `server:tool`, `namespace:tool`). Only qualified patterns match qualified names, so that `git*` does
 * not match the tools of the namespace `github`. `*` matches any text; case, separators and invisible characters do not
 * matter.
 *
 * @example
 * matchesAction(["delete_*", "github:*"], { namespace: "github", name: "read_file" }); // "github:*"
 */
export function matchesAction(patterns: readonly string[], tool: NamedTool): string | null {
  if (patterns.length === 0) return null;
  const names = foldedNames(tool);
  const found = patterns.find((pattern) => {
    const { wanted, saysWhere } = compiled(pattern);
    const compared = saysWhere ? [...names.plain, ...names.placed] : names.plain;
    return wanted.some((each) => compared.some((name) => fitsPattern(each, name)));
  });
  return found ?? null;
}

/**
 * The first pattern that grants a privilege to a tool of an MCP server, or null. The server chooses the tool's name, so the
 * pattern must name the server (`files/read_*`), exactly as the operator spells it: `read_*` would match every server, and
 * any server can list a tool called `files/read`.
 *
 * @example
 * allowsAction(["files/read_*"], { namespace: "mcp", server: "files", ownName: "read_file", name: "files__read_file" });
 */
export function allowsAction(
  patterns: readonly string[],
  { name, server, ownName = null }: NamedTool & { readonly server: string },
): string | null {
  const own = [parseToolName(name).tool, ...(ownName === null ? [name] : [ownName])].flatMap(nameSpellings);
  const found = patterns.find((pattern) =>
    placesIn(pattern).some(
      ({ place, tool }) =>
        fitsPattern(place, server) &&
        compiled(tool).wanted.some((each) => own.some((own) => fitsPattern(each, own))),
    ),
  );
  return found ?? null;
}

/** Every way to split a pattern into a server and a tool: names of servers may contain separators themselves. */
function placesIn(pattern: string): readonly { readonly place: string; readonly tool: string }[] {
  const bare = pattern.trim().replace(/^mcp(?:__|[:/])/i, "");
  return [...bare.matchAll(SAYS_WHERE)].map(({ 0: mark, index }) => ({
    place: bare.slice(0, index),
    tool: bare.slice(index + mark.length),
  }));
}

/** True if a pattern matches one name only. */
export function isExactName(pattern: string): boolean {
  return !comparableText(pattern).includes("*");
}

/** The name with which a rule matches just this tool. */
export function fullName({ name, server = null, ownName = null }: NamedTool): string {
  return server === null || ownName === null ? name : `${server}/${ownName}`;
}

const SAYS_WHERE = /[:/]|__/g;

function foldedNames({ name, namespace, server = null, ownName = null }: NamedTool): {
  readonly plain: readonly string[];
  readonly placed: readonly string[];
} {
  const plain = [name, parseToolName(name).tool, ...(ownName === null ? [] : [ownName])];
  const places =
    server === null ? [namespace] : [namespace, server, `mcp:${server}`, `${namespace}:${server}`];
  const placed = places.flatMap((place) => plain.map((each) => `${place}:${each}`));
  const folded = (names: readonly string[]) => [...new Set(names.flatMap(nameSpellings))];
  return { plain: folded(plain), placed: folded(placed) };
}

type Compiled = {
  /** Its spellings, never empty. */
  readonly wanted: readonly string[];
  readonly saysWhere: boolean;
};

const compiled = memoized((pattern): Compiled => {
  const seen = comparableText(pattern);
  // A separator beside a `*` counts; at either end of the pattern it does not.
  const wanted = spellings(seen).flatMap((each) => [each, each.replaceAll(/^_(?!\*)|(?<!\*)_$/g, "")]);
  return {
    wanted: [...new Set(wanted)].filter((each) => each !== ""),
    saysWhere: seen.search(SAYS_WHERE) !== -1,
  };
});

/** A name begins with its first word: `_delete_file` deletes, too. */
function nameSpellings(name: string): readonly string[] {
  return spellings(comparableText(name)).flatMap((each) => [each, each.replaceAll(/^_|_$/g, "")]);
}

/** A name as it is compared, whole and split before capitals: deleteFile is delete_file, GitHub is github. */
function spellings(seen: string): readonly string[] {
  const [whole, cut] = [folded(seen), folded(seen.replaceAll(CAPITAL, "_"))];
  return whole === cut ? [whole] : [whole, cut];
}

const CAPITAL = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu;

/** Anything that may separate the words of a name, in any script. */
const SEPARATORS = /[^\p{L}\p{M}\p{N}*]+/gu;

function folded(name: string): string {
  return name.toLowerCase().replaceAll(SEPARATORS, "_");
}

/** Throws for a pattern that could never match, so that a typo is not mistaken for a rule. */
export function assertPatterns(patterns: unknown, what: string): asserts patterns is readonly string[] {
  if (!Array.isArray(patterns)) {
    throw new ConfigurationError(`${what} is not a list: give an array of tool names or patterns.`);
  }
  for (const [index, pattern] of (patterns as readonly unknown[]).entries())
    assertPattern(pattern, `${what}[${index}]`);
}

export function assertPattern(pattern: unknown, what: string): asserts pattern is string {
  if (typeof pattern === "string" && comparableText(pattern) !== "") return;
  const given = typeof pattern === "string" ? "an empty text" : `a value of type ${typeof pattern}`;
  throw new ConfigurationError(
    `${what} is ${given}: give the name of a tool, such as "send_email" or "github:*".`,
  );
}

/**
 * True if a pattern matches a text; `*` matches any text. Piece by piece instead of with a regular expression: no character
 * needs escaping, and no pattern takes long.
 */
export function fitsPattern(pattern: string, text: string): boolean {
  const [first = "", ...pieces] = pattern.split("*");
  const last = pieces.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const piece of pieces) {
    const found = text.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
