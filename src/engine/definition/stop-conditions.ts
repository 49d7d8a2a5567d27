import { ConfigurationError, PawlError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import type { SessionView } from "../../session/session-view.ts";
import type { ArtifactRecord, ToolCallRecord } from "../../store/store.ts";
import { errorText } from "./tool-outcome.ts";

/** The argument of a stop condition. All of it is stored, so the next worker evaluates the same values. */
export type StopState = {
  readonly runId: string;
  /** The ledger: every call of the run with its receipt. */
  readonly calls: readonly ToolCallRecord[];
  readonly artifacts: readonly ArtifactRecord[];
  readonly session: SessionView;
  /** The output of the last step. */
  readonly output: Json;
};

/**
 * A condition that a RunSpec names. The run ends as soon as all of them hold, and fails if they do not hold at its end.
 *
 * @example
 * const conditions = { report_pdf_created: artifactKept("report.pdf"), email_sent_once: succeededOnce("send_email") };
 */
export type StopCondition = (run: StopState) => boolean | Promise<boolean>;

/** Stop conditions by name. */
export type StopConditions = { readonly [name: string]: StopCondition };

/** Holds once the run has an artifact of that name. */
export function artifactKept(name: string): StopCondition {
  return ({ artifacts }) => artifacts.some((artifact) => artifact.name === name);
}

/** Holds while exactly one call of that tool has succeeded. */
export function succeededOnce(tool: string): StopCondition {
  return ({ calls }) =>
    calls.filter((call) => call.tool === tool && call.status === "succeeded").length === 1;
}

/** The named conditions. Throws if one is not registered, since it would never hold. */
export function chooseConditions(names: readonly string[], registered: StopConditions): StopConditions {
  const unknown = names.filter((name) => !Object.hasOwn(registered, name));
  if (unknown.length > 0) {
    const known = Object.keys(registered);
    const choice = known.length === 0 ? "none are registered" : `known are ${known.join(", ")}`;
    const [s, are, them] = unknown.length > 1 ? ["s", "are", "them"] : ["", "is", "it"];
    throw new ConfigurationError(
      `Stop condition${s} ${unknown.join(", ")} ${are} not registered (${choice}): register ${them} with Pipeline.stoppingWhen or \`stopConditions\` in the config, or remove ${them} from the RunSpec.`,
      { unknown },
    );
  }
  return Object.fromEntries(names.flatMap((name) => (registered[name] ? [[name, registered[name]]] : [])));
}

/** The names of the conditions that do not hold. */
export async function unmetConditions(conditions: StopConditions, state: StopState): Promise<string[]> {
  const unmet: string[] = [];
  for (const [name, condition] of Object.entries(conditions)) {
    const holds = await evaluate(name, condition, state);
    if (typeof holds !== "boolean")
      throw new TypeError(`Stop condition ${name} returned ${typeof holds}: return true or false.`);
    if (!holds) unmet.push(name);
  }
  return unmet;
}

/** Adds the condition's name to errors of its own code. A `PawlError` already names its subject. */
async function evaluate(name: string, condition: StopCondition, state: StopState): Promise<unknown> {
  try {
    return await condition(state);
  } catch (error) {
    if (PawlError.isInstance(error)) throw error;
    throw new Error(`Stop condition ${name} failed: ${errorText(error)}`, { cause: error });
  }
}
