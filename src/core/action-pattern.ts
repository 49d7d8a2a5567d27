import { ConfigurationError } from "./errors.ts";
import { parseToolName } from "./tool-name.ts";
import { seenText } from "./visible-text.ts";

/** A tool by all the names that it has. */
export type NamedTool = {
  /** What the model calls it. */
  readonly name: string;
  readonly namespace: string;
  /** The MCP server that it comes from, and what that server itself calls it. */
  readonly server?: string | null;
  readonly ownName?: string | null;
};

/**
 * The first pattern that an action matches, or null. A pattern is compared with every name that the tool has: the model's,
 * its server's own, and those behind where it comes from (`server/tool`, `server:tool`, `namespace:tool`). Those are for
 * patterns that say where as well, so that `git*` says nothing about the tools of the namespace `github`. `*` stands for any
 * text; case, separators and what is not seen make no difference.
 *
 * @example
 * matchesAction(["delete_*", "github:*"], { namespace: "github", name: "read_file" }); // "github:*"
 */
export function matchesAction(patterns: readonly string[], tool: NamedTool): string | null {
  if (patterns.length === 0) return null;
  const names = foldedNames(tool);
  const found = patterns.find((pattern) => {
    const compared = SAYS_WHERE.test(pattern) ? [...names.plain, ...names.placed] : names.plain;
    return spellings(pattern).some(
      (wanted) => wanted !== "" && compared.some((name) => fitsPattern(wanted, name)),
    );
  });
  return found ?? null;
}

/** Whether a pattern means one name, and none that is not known yet. */
export function isExactName(pattern: string): boolean {
  return !seenText(pattern).includes("*");
}

/** What a person would write to mean just this tool. */
export function fullName({ name, server = null, ownName = null }: NamedTool): string {
  return server === null || ownName === null ? name : `${server}/${ownName}`;
}

const SAYS_WHERE = /[:/\uff1a\uff0f]|__/;

function foldedNames({ name, namespace, server = null, ownName = null }: NamedTool): {
  readonly plain: readonly string[];
  readonly placed: readonly string[];
} {
  const plain = [name, parseToolName(name).tool, ...(ownName === null ? [] : [ownName])];
  const places =
    server === null ? [namespace] : [namespace, server, `mcp:${server}`, `${namespace}:${server}`];
  const placed = places.flatMap((place) => plain.map((each) => `${place}:${each}`));
  const folded = (names: readonly string[]) => [...new Set(names.flatMap(spellings))];
  return { plain: folded(plain), placed: folded(placed) };
}

/** A name as it is compared, with and without a cut where a capital begins a word: deleteFile is delete_file, GitHub github. */
function spellings(name: string): readonly string[] {
  const seen = seenText(name);
  const [whole, cut] = [folded(seen), folded(seen.replaceAll(CAPITAL, "_"))];
  return whole === cut ? [whole] : [whole, cut];
}

const CAPITAL = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu;

/** Everything that people and programs put between the words of a name. */
const SEPARATORS = /[\s\p{Pd}\p{Pc}./:\\]+/gu;

function folded(name: string): string {
  return name.toLowerCase().replaceAll(SEPARATORS, "_");
}

/** Throws for what could never forbid anything, so that a slip does not pass for a rule. */
export function assertPatterns(patterns: unknown, what: string): asserts patterns is readonly string[] {
  if (!Array.isArray(patterns)) {
    throw new ConfigurationError(`${what} is no list: give an array of tool names or patterns.`);
  }
  for (const [index, pattern] of (patterns as readonly unknown[]).entries())
    assertPattern(pattern, `${what}[${index}]`);
}

export function assertPattern(pattern: unknown, what: string): asserts pattern is string {
  if (typeof pattern === "string" && seenText(pattern) !== "") return;
  const given = typeof pattern === "string" ? "an empty text" : `a value of type ${typeof pattern}`;
  throw new ConfigurationError(
    `${what} is ${given}: give the name of a tool, such as "send_email" or "github:*".`,
  );
}

/**
 * Whether a text is what a pattern says, `*` standing for any text. Piece by piece instead of by a regular expression: no
 * character needs escaping, and no pattern takes long.
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
