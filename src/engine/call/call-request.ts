import type { Json } from "../../core/json.ts";
import type { PreparedTool } from "../definition/prepared-tool.ts";
import { errorText } from "../definition/tool-outcome.ts";

/** A call as the model or the code asked for it, before anything about it is written. */
export type CallRequest = {
  readonly stepPath: string;
  readonly name: string;
  /** The requested arguments without secrets: stored, and shown to people. */
  readonly input: Json;
  /** The same arguments with secrets: sent to the tool, and hashed into the identity. */
  readonly secretInput: Json;
  /** True if `secretInput` comes from the journal of an earlier worker, where its secrets were hidden: they are lost. */
  readonly isSecretLost: boolean;
  /** Values that the run's own code passed under a secret name: hidden in the result of this call only. */
  readonly ownSecrets: readonly string[];
  /** Null if there is no tool of that name. */
  readonly tool: PreparedTool | null;
  /** A problem with the arguments, or with the name, that is known already. */
  readonly problem: string | null;
  readonly enforceKeys: boolean;
};

/** Parses the arguments. A schema that throws refuses the call and does not fail the turn: the response is paid for. */
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
