import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * Where a path really leads, with every link on the way followed; what is not there yet is added as it is written. Null for a
 * link that leads nowhere: what is made there later may be anywhere.
 */
export async function realPlace(path: string): Promise<string | null> {
  try {
    return await realpath(path);
  } catch {
    if ((await exists(path)) || dirname(path) === path) return null;
    const above = await realPlace(dirname(path));
    return above === null ? null : join(above, basename(path));
  }
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
