import { SchemaMisfitError } from "../../core/errors.ts";
import { finalMisfit, MAX_MISFITS } from "../../core/turn/misfits.ts";
import type { TurnScope } from "./turn-scope.ts";

/** Throws if the model has sent too many misfits in a row, unless a person has just resumed the run after that. */
export function assertMayAnswer({ run, path: step, prepared, conversation }: TurnScope): void {
  const misfit = finalMisfit(conversation.misfits);
  const isNew = conversation.committed > conversation.loadedTurn;
  if (misfit === null || (run.resume.isRequested && !isNew)) return;
  const { name: agent } = prepared.agent;
  const { tool } = misfit;
  const problem = shortened(misfit.problem);
  const given = shortened(misfit.given);
  const who = `Run ${run.runId}: agent ${agent} in step ${step}`;
  const [what, schema] =
    tool === null
      ? [
          `answered ${MAX_MISFITS} times in a row with something that does not fit its output schema. The last answer ${problem}`,
          "the schema",
        ]
      : [
          `called ${tool} with arguments that do not fit in ${MAX_MISFITS} turns in a row. The last time: ${problem}`,
          "the tool's schema",
        ];
  throw new SchemaMisfitError(
    `${who} ${what}. It was: ${given}. All turns are kept. Relax ${schema}, say in the instructions what is wanted, or take another model, and resume with acceptDivergence; or resume as it is, for ${MAX_MISFITS} more tries.`,
    { agent, step, tool, turn: conversation.committed, problem, given },
  );
}

const MOST_SHOWN = 300;

/** On one line, cut, and without the end of its last sentence. */
function shortened(text: string): string {
  const line = text
    .slice(0, 4 * MOST_SHOWN)
    .replaceAll(/\s+/g, " ")
    .trim();
  const short = line.length > MOST_SHOWN ? `${line.slice(0, MOST_SHOWN)}…` : line;
  return short.toWellFormed().replace(/\.$/, "");
}
