import { LONGEST_TOOL_NAME, providerToolName } from "../../core/call/tool-name.ts";
import { sha256Hex } from "../../core/canonical-json.ts";

const HASH_DIGITS = 8;

/**
 * The names that the model uses for a server's tools, by the server's own names. Characters that providers refuse are
 * replaced; a name that would then be ambiguous or too long gets a hash of the original.
 *
 * @example
 * modelNames("files", ["read_file", "disk.usage"]); // Map { "read_file" => "files__read_file", "disk.usage" => "files__disk_usage" }
 */
export function modelNames(server: string, tools: readonly string[]): ReadonlyMap<string, string> {
  const plain = tools.map((tool) => [tool, providerToolName(`${server}__${tool}`)] as const);
  const counts = new Map<string, number>();
  for (const [, name] of plain) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(
    plain.map(([tool, name]) => {
      const isUnchanged = name === `${server}__${tool}`;
      const isUsable = name.length <= LONGEST_TOOL_NAME && (isUnchanged || counts.get(name) === 1);
      return [tool, isUsable ? name : hashed(name, `${server}__${tool}`)];
    }),
  );
}

function hashed(name: string, original: string): string {
  const hash = sha256Hex(original).slice(0, HASH_DIGITS);
  return `${name.slice(0, LONGEST_TOOL_NAME - HASH_DIGITS - 1)}_${hash}`;
}
