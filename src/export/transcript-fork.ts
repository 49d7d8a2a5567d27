import type { StepRecord, ToolCallRecord, TurnRecord } from "../store/store.ts";
import { code } from "./markdown.ts";
import type { LargeResults } from "./result-texts.ts";
import type { RunAccount } from "./run-account.ts";
import type { Incident, Story } from "./run-story.ts";
import { askedCall, settledCall } from "./transcript-call.ts";
import { responseText } from "./transcript-turn.ts";

/** What a fork begins with: the steps, turns and calls of the first run, which its own log does not tell one by one. */
export function takenOver(account: RunAccount, story: Story, large: LargeResults): readonly string[] {
  const { run, steps, turns, calls, waits } = account;
  const incidents = story.chapters.flatMap((chapter) => chapter.incidents);
  const ofTurns = Map.groupBy(notTold(turns, incidents), ({ stepPath }) => stepPath);
  const ofCode = Map.groupBy(notWanted(calls, incidents), ({ stepPath }) => stepPath);
  const settled = (call: ToolCallRecord) => settledCall(call, waits, large);
  return [
    `## What it took over from run ${code(run.forkedFrom?.runId ?? "")}`,
    "These turns and calls were made, and paid for, by that run. Their receipts hold here too.",
    ...steps.flatMap((step) => {
      const [before, made] = [ofTurns.get(step.path) ?? [], ofCode.get(step.path) ?? []];
      if (before.length + made.length === 0) return [];
      return [
        takenStep(step),
        ...before.flatMap((turn) => [
          `#### Turn ${turn.turnIndex} of ${code(step.path)}`,
          ...responseText(turn),
          ...turn.calls.map(settled),
        ]),
        ...made.flatMap((call) => [askedCall(call), settled(call)]),
      ];
    }),
  ];
}

function takenStep({ path }: StepRecord): string {
  return `### Step ${code(path)}`;
}

function notTold(turns: readonly TurnRecord[], incidents: readonly Incident[]): readonly TurnRecord[] {
  const told = new Set(incidents.map(({ response }) => response));
  return turns.filter((turn) => !told.has(turn));
}

function notWanted(
  calls: readonly ToolCallRecord[],
  incidents: readonly Incident[],
): readonly ToolCallRecord[] {
  const told = new Set(incidents.flatMap(({ wanted }) => wanted));
  return calls.filter((call) => call.turnIndex === 0 && !told.has(call));
}
