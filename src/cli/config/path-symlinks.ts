import { lstat, readlink } from "node:fs/promises";
import { dirname, isAbsolute, join, parse, sep } from "node:path";

/** More than any operating system follows. */
const MOST_LINKS = 40;

/**
 * The symlinks that a path passes through, in any of its segments, each by its real location. Write access to one of them decides
 * where the path leads. The path must be absolute and exist.
 */
export async function pathSymlinks(path: string): Promise<readonly string[]> {
  const links: string[] = [];
  let { root: at } = parse(path);
  const left = partsOf(path.slice(at.length));
  for (let part = left.shift(); part !== undefined; part = left.shift()) {
    const next = part === ".." ? dirname(at) : join(at, part);
    if (part === ".." || !(await lstat(next)).isSymbolicLink()) {
      at = next;
      continue;
    }
    if (links.push(next) > MOST_LINKS) throw new Error(`${path} passes through too many symlinks.`);
    const target = await readlink(next);
    if (isAbsolute(target)) at = parse(target).root;
    left.unshift(...partsOf(isAbsolute(target) ? target.slice(at.length) : target));
  }
  return links;
}

function partsOf(path: string): string[] {
  return path.split(sep).filter((part) => part !== "" && part !== ".");
}
