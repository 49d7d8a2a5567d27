import { sha256Hex } from "../canonical-json.ts";

/** The key of one turn: the same in every process that runs it. */
export function turnKey(runId: string, stepPath: string, turnIndex: number): string {
  return sha256Hex(`${runId}:${stepPath}:${turnIndex}`);
}
