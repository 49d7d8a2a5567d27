import type { Json } from "../../core/json.ts";
import type { PreparedTool } from "../definition/prepared-tool.ts";
import { errorText } from "../definition/tool-outcome.ts";

/** What a call is for, before anything about it is written. */
export type CallRequest = {
  readonly stepPath: string;
  readonly name: string;
  /** The arguments as they were asked for, without secrets: what is stored and shown. */
  readonly input: Json;
  /** The same with them: what goes out, and what a call is known by. */
  readonly secretInput: Json;
  /** Whether secrets of `secretInput` were hidden, and are not known any more: what an earlier worker has journaled. */
  readonly isSecretLost: boolean;
  /** What the run's own code gave under a secret name: it is looked for in what comes of this call, and nowhere else. */
  readonly ownSecrets: readonly string[];
  /** Null where no such tool exists. */
  readonly tool: PreparedTool | null;
  /** What is already known to be wrong with the arguments. */
  readonly problem: string | null;
  readonly enforceKeys: boolean;
};

/** A schema's own code may throw. The answer that asks for the call is paid for by then, so that is a result too. */
export async function parseArguments(
  tool: PreparedTool,
  input: unknown,
): ReturnType<PreparedTool["input"]["parse"]> {
  try {
    return await tool.input.parse(input);
  } catch (error) {
    return { ok: false, error: `its schema failed: ${errorText(error)}` };
  }
}
