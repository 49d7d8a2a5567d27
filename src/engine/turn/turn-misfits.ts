import { type ToolOutput, textOf } from "../../core/message.ts";
import { type Misfit, type MisfitStreaks, streaksAfter } from "../../core/turn/misfits.ts";
import type { StoredResponse, TurnRecord } from "../../store/store.ts";
import type { PreparedAgent } from "../definition/agent.ts";
import { answerOf } from "../definition/agent-output.ts";
import type { TurnCall } from "./turn-call.ts";

/** A call of a turn: `problem` is null if its arguments fit. */
type CheckedCall = { readonly tool: string; readonly problem: string | null; readonly input: unknown };

/** A turn, as far as its misfits depend on it. */
type CheckedTurn = {
  readonly response: StoredResponse;
  readonly followUp: string | null;
  readonly calls: readonly CheckedCall[];
};

/** The code of a call whose arguments do not fit, in its receipt. A call of an unknown tool is no misfit: there is no schema. */
const INVALID_INPUT = "invalid_input";

/** The misfits of committed turns, in order. Turns that the model no longer sees are not among them. */
export async function storedMisfits(
  prepared: PreparedAgent,
  turns: readonly TurnRecord[],
): Promise<MisfitStreaks> {
  let streaks: MisfitStreaks = [];
  for (const { response, followUp, calls } of turns) {
    const checked = calls.map(({ tool, request, receipt }) => ({
      tool,
      problem: receipt?.errorCode === INVALID_INPUT ? errorText(receipt.output) : null,
      input: request,
    }));
    streaks = streaksAfter(streaks, await misfitsOf(prepared, { response, followUp, calls: checked }));
  }
  return streaks;
}

/** The misfits of a turn that is about to be committed. */
export function turnMisfits(
  prepared: PreparedAgent,
  response: StoredResponse,
  followUp: string | null,
  calls: readonly TurnCall[],
): Promise<readonly Misfit[]> {
  const checked = calls.map(({ part, undecided: { payload } }) => ({
    tool: part.toolName,
    problem: payload.kind === "refused" && payload.errorCode === INVALID_INPUT ? payload.error : null,
    input: part.input,
  }));
  return misfitsOf(prepared, { response, followUp, calls: checked });
}

async function misfitsOf(
  prepared: PreparedAgent,
  { response, followUp, calls }: CheckedTurn,
): Promise<readonly Misfit[]> {
  // A model that also called the tool with arguments that fit knows how to.
  const fitting = new Set(calls.filter(({ problem }) => problem === null).map(({ tool }) => tool));
  const misfits = new Map<string, Misfit>();
  for (const { tool, problem, input } of calls)
    if (problem !== null && !fitting.has(tool))
      misfits.set(tool, { tool, problem, given: JSON.stringify(input) });
  // Every answer that does not fit has a follow-up.
  if (calls.length > 0 || followUp === null || prepared.agent.output === null) return [...misfits.values()];
  const { misfit } = await answerOf(prepared, response);
  return misfit === null ? [] : [{ tool: null, problem: misfit, given: textOf(response.content) }];
}

function errorText(output: ToolOutput): string {
  return typeof output.value === "string" ? output.value : JSON.stringify(output.value);
}
