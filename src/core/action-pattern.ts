import { ConfigurationError } from "./errors.ts";

/**
 * The first pattern that an action matches, or null. A pattern with a colon is compared with `namespace:name`, one
 * without with the name alone, so that `git*` says nothing about the tools of the namespace `github`; `*` stands for
 * any text, every other character for itself, in either case.
 *
 * @example
 * matchesAction(["delete_*", "github:*"], { namespace: "github", name: "read_file" }); // "github:*"
 */
export function matchesAction(
  patterns: readonly string[],
  action: { readonly namespace: string; readonly name: string },
): string | null {
  const name = action.name.toLowerCase();
  const full = `${action.namespace.toLowerCase()}:${name}`;
  const found = patterns.find((pattern) => {
    const wanted = pattern.toLowerCase();
    if (wanted === "") return false;
    // A name may contain a colon itself.
    return fitsPattern(wanted, name) || (wanted.includes(":") && fitsPattern(wanted, full));
  });
  return found ?? null;
}

/** Throws for what could never forbid anything, so that a slip does not pass for a rule. */
export function assertPatterns(patterns: unknown, what: string): asserts patterns is readonly string[] {
  if (!Array.isArray(patterns)) {
    throw new ConfigurationError(`${what} is no list: give an array of tool names or patterns.`);
  }
  for (const [index, pattern] of (patterns as readonly unknown[]).entries()) {
    if (typeof pattern === "string" && pattern.trim() !== "") continue;
    const given = typeof pattern === "string" ? "an empty text" : `a value of type ${typeof pattern}`;
    throw new ConfigurationError(
      `${what}[${index}] is ${given}: give the name of a tool, such as "send_email" or "github:*".`,
    );
  }
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
