import { sha256Hex } from "../../core/canonical-json.ts";

/** What all providers take as the name of a tool. */
const LONGEST_NAME = 64;
const HASH_DIGITS = 8;

/**
 * What the model calls the tools of a server, by the server's own names. A name that providers would refuse is spelled in
 * another way, and one that would then be another's carries a hash of what it was.
 *
 * @example
 * modelNames("files", ["read_file", "disk.usage"]); // Map { "read_file" => "files__read_file", "disk.usage" => "files__disk_usage" }
 */
export function modelNames(server: string, tools: readonly string[]): ReadonlyMap<string, string> {
  const plain = tools.map((tool) => [tool, spelled(`${server}__${tool}`)] as const);
  const counts = new Map<string, number>();
  for (const [, name] of plain) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(
    plain.map(([tool, name]) => {
      const isItsOwn = name === `${server}__${tool}`;
      const isFine = name.length <= LONGEST_NAME && (isItsOwn || counts.get(name) === 1);
      return [tool, isFine ? name : hashed(name, `${server}__${tool}`)];
    }),
  );
}

function spelled(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
}

function hashed(name: string, original: string): string {
  const hash = sha256Hex(original).slice(0, HASH_DIGITS);
  return `${name.slice(0, LONGEST_NAME - HASH_DIGITS - 1)}_${hash}`;
}
