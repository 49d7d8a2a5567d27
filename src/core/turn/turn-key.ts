import { sha256Hex } from "../canonical-json.ts";

/** The key of one turn: the same for whoever runs it, in whatever process. */
export function turnKey(runId: string, stepPath: string, turnIndex: number): string {
  return sha256Hex(`${runId}:${stepPath}:${turnIndex}`);
}
