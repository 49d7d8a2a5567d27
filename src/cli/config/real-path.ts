import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * The real path with all symlinks resolved; segments that do not exist yet are appended as written. Null for a dangling
 * symlink: a file created through it could be anywhere.
 */
export async function realPath(path: string): Promise<string | null> {
  try {
    return await realpath(path);
  } catch {
    if ((await exists(path)) || dirname(path) === path) return null;
    const above = await realPath(dirname(path));
    return above === null ? null : join(above, basename(path));
  }
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
