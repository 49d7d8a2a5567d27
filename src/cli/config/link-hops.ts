import { lstat, readlink } from "node:fs/promises";
import { dirname, isAbsolute, join, parse, sep } from "node:path";

/** More than any system follows. */
const MOST_LINKS = 40;

/**
 * The links that a path leads through, each by where it really is, in any part of the path. Whoever can change one of them decides
 * where the path leads. The path is absolute, and leads to something.
 */
export async function linkHops(path: string): Promise<readonly string[]> {
  const links: string[] = [];
  let { root: at } = parse(path);
  const left = partsOf(path.slice(at.length));
  for (let part = left.shift(); part !== undefined; part = left.shift()) {
    const next = part === ".." ? dirname(at) : join(at, part);
    if (part === ".." || !(await lstat(next)).isSymbolicLink()) {
      at = next;
      continue;
    }
    if (links.push(next) > MOST_LINKS) throw new Error(`${path} leads through too many links.`);
    const target = await readlink(next);
    if (isAbsolute(target)) at = parse(target).root;
    left.unshift(...partsOf(isAbsolute(target) ? target.slice(at.length) : target));
  }
  return links;
}

function partsOf(path: string): string[] {
  return path.split(sep).filter((part) => part !== "" && part !== ".");
}
