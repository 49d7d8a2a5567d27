import { seededRandom } from "../../../src/testing/crash/seeded-random.ts";
import type { Parser } from "./parsers.ts";

/** The properties that every object has: an addition means prototype pollution. */
const OWN = Reflect.ownKeys(Object.prototype).join(" ");

/** The problems found with so many inputs from a seed. */
export async function fuzzed({ feed }: Parser, count: number, seed: number): Promise<readonly string[]> {
  const problems = await feed(seededRandom(seed), count);
  const polluted = Reflect.ownKeys(Object.prototype).map(String).join(" ") !== OWN;
  const shown = problems.slice(0, 5);
  return [
    ...shown,
    ...(problems.length > shown.length ? [`and ${problems.length - shown.length} more`] : []),
    ...(polluted ? ["Object.prototype was polluted"] : []),
  ];
}
