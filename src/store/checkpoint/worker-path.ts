import { resolve } from "node:path";
import { CheckpointStoreError } from "../../core/errors.ts";

/**
 * The absolute path of a worker's directory. A path that climbs (`../x`) is refused however it would resolve: an
 * untrusted one could leave its intended root.
 */
export function workerPath(directory: string): string {
  if (directory === "") throw refused(directory, "is empty", "name a directory");
  if (directory.includes("\0")) throw refused(directory, "has a NUL in it", "leave it out");
  if (directory.split("/").includes(".."))
    throw refused(directory, 'has a ".." in it', "name the directory itself");
  // Resolved, not as given: a trailing "/" would make the system follow a link before it could be detected.
  return resolve(directory);
}

/** Letters, digits, ".", "_" and "-", not starting with ".": one name inside its root, and not a hidden one. */
const WORKER_ID = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/;

export function workerPathIn(root: string, workerId: string): string {
  if (!WORKER_ID.test(workerId))
    throw new CheckpointStoreError(
      `${JSON.stringify(workerId)} is not a name for a worker: use 1 to 100 letters, digits, ".", "_" and "-", and no "." at the start.`,
      { reason: "path", paths: [workerId] },
    );
  return workerPath(root === "" ? root : `${root}/${workerId}`);
}

function refused(directory: string, what: string, advice: string): CheckpointStoreError {
  return new CheckpointStoreError(
    `The path ${JSON.stringify(directory)} cannot be a worker's directory, because it ${what}: ${advice}.`,
    { reason: "path", paths: [directory] },
  );
}
