import { ConfigurationError, PawlError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import type { SessionView } from "../../session/session-view.ts";
import type { ArtifactRecord, ToolCallRecord } from "../../store/store.ts";
import { errorText } from "./tool-outcome.ts";

/** What a stop condition looks at: all of it is stored, so that whoever goes on with the run sees the same. */
export type StopState = {
  readonly runId: string;
  /** The ledger: every call with its receipt. */
  readonly calls: readonly ToolCallRecord[];
  readonly artifacts: readonly ArtifactRecord[];
  readonly session: SessionView;
  /** What the last step gave. */
  readonly output: Json;
};

/**
 * A named condition of a RunSpec: where all of them hold the run is done, and at its end they have to.
 *
 * @example
 * const conditions = { report_pdf_created: artifactKept("report.pdf"), email_sent_once: succeededOnce("send_email") };
 */
export type StopCondition = (run: StopState) => boolean | Promise<boolean>;

export type StopConditions = { readonly [name: string]: StopCondition };

/** The run has made an artifact of that name. */
export function artifactKept(name: string): StopCondition {
  return ({ artifacts }) => artifacts.some((artifact) => artifact.name === name);
}

/** Exactly one call of that tool has succeeded. */
export function succeededOnce(tool: string): StopCondition {
  return ({ calls }) =>
    calls.filter((call) => call.tool === tool && call.status === "succeeded").length === 1;
}

/** The conditions that a run asks for, by name. One that nobody registered would never hold. */
export function chooseConditions(names: readonly string[], registered: StopConditions): StopConditions {
  const unknown = names.filter((name) => !Object.hasOwn(registered, name));
  if (unknown.length > 0) {
    const known = Object.keys(registered);
    const choice = known.length === 0 ? "none are registered" : `known are ${known.join(", ")}`;
    throw new ConfigurationError(
      `Nobody has registered the stop condition${unknown.length > 1 ? "s" : ""} ${unknown.join(", ")} (${choice}): give ${unknown.length > 1 ? "them" : "it"} with Pipeline.stoppingWhen or \`stopConditions\` in the config, or take ${unknown.length > 1 ? "them" : "it"} out of the RunSpec.`,
      { unknown },
    );
  }
  return Object.fromEntries(names.flatMap((name) => (registered[name] ? [[name, registered[name]]] : [])));
}

/** The names of those that do not hold. */
export async function unmetConditions(conditions: StopConditions, state: StopState): Promise<string[]> {
  const unmet: string[] = [];
  for (const [name, condition] of Object.entries(conditions)) {
    const holds = await ask(name, condition, state);
    if (typeof holds !== "boolean")
      throw new TypeError(`Stop condition ${name} gave ${typeof holds}: return true or false.`);
    if (!holds) unmet.push(name);
  }
  return unmet;
}

/** Names the condition in whatever its code throws of its own; errors of ours say already what they are about. */
async function ask(name: string, condition: StopCondition, state: StopState): Promise<unknown> {
  try {
    return await condition(state);
  } catch (error) {
    if (PawlError.isInstance(error)) throw error;
    throw new Error(`Stop condition ${name} failed: ${errorText(error)}`, { cause: error });
  }
}
