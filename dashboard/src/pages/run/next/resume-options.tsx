import { type ReactNode, useId } from "react";
import type { Client } from "../../../api/client.ts";
import { Ago } from "../../../parts/text/time.tsx";
import { VisibleLine } from "../../../parts/text/visible.tsx";
import { milestoneWords, type ResumePlace, resumePlaces } from "./resume-places.ts";
import type { Run } from "./standing-words.ts";

type Fields = Parameters<Client["forecastRun"]>[1];

/** How a run is resumed, as it is typed. */
export type ResumeChoice = {
  readonly from: ResumePlace;
  readonly redoTurn: boolean;
  readonly divergence: string;
  /** The new limits, by the names of the budgets. Empty is unchanged. */
  readonly budgets: { readonly [name: string]: string };
};

export const NO_OPTIONS: ResumeChoice = { from: "turn", redoTurn: false, divergence: "", budgets: {} };

/** The fields of the request. What is left as usual is left out. */
export function resumeFields({ from, redoTurn, divergence, budgets }: ResumeChoice): Fields {
  const raised = Object.entries(budgets)
    .map(([name, text]) => [name, Number(text)] as const)
    .filter(([name, limit]) => budgets[name] !== "" && Number.isFinite(limit) && limit >= 0);
  return {
    ...(from === "turn" ? {} : { from }),
    ...(redoTurn ? { redoTurn } : {}),
    ...(divergence.trim() === "" ? {} : { acceptDivergence: divergence.trim() }),
    // The names are those of the run's own budgets.
    ...(raised.length === 0 ? {} : { budgets: Object.fromEntries(raised) }),
  };
}

const FROM = { turn: "its last turn", milestone: "its last milestone", beginning: "the beginning" } as const;

const FIELD = "h-7 rounded-md border border-edge bg-panel px-2";

export function ResumeOptions({
  run,
  choice,
  onChoice,
}: {
  readonly run: Run;
  readonly choice: ResumeChoice;
  readonly onChoice: (choice: ResumeChoice) => void;
}): ReactNode {
  const id = useId();
  const change = (part: Partial<ResumeChoice>): void => onChoice({ ...choice, ...part });
  return (
    <details className="group/options">
      <summary className="disclosure w-fit text-ink-2 hover:text-ink">Options</summary>
      <div className="mt-2 flex flex-col gap-3 pl-4">
        <fieldset className="flex flex-wrap gap-x-4 gap-y-1">
          <legend className="mb-1 text-xs text-ink-3">Continue from</legend>
          {resumePlaces(run).map((from) => (
            <label key={from} className="inline-flex items-center gap-1.5">
              <input
                type="radio"
                name={`${id}-from`}
                checked={choice.from === from}
                className="accent-accent"
                onChange={() => change({ from })}
              />
              {FROM[from]}
              {from === "milestone" && run.milestone !== null && (
                <span className="text-ink-3">
                  <VisibleLine text={milestoneWords(run.milestone)} />, <Ago at={run.milestone.at} />
                </span>
              )}
            </label>
          ))}
        </fieldset>
        <label className="inline-flex items-center gap-1.5">
          <input
            type="checkbox"
            checked={choice.redoTurn}
            className="accent-accent"
            onChange={({ target }) => change({ redoTurn: target.checked })}
          />
          Ask the model for the interrupted turn again
        </label>
        {run.budgets.length > 0 && (
          <fieldset className="flex flex-wrap gap-3">
            <legend className="mb-1 text-xs text-ink-3">Raise budgets</legend>
            {run.budgets.map(({ name, limit }) => (
              <label key={name} className="inline-flex items-center gap-1.5">
                <code>{name}</code>
                <input
                  type="number"
                  min={0}
                  step="any"
                  placeholder={String(limit)}
                  value={choice.budgets[name] ?? ""}
                  className={`${FIELD} w-24`}
                  onChange={({ target }) => change({ budgets: { ...choice.budgets, [name]: target.value } })}
                />
              </label>
            ))}
          </fieldset>
        )}
        <label className="flex flex-col gap-1">
          <span className="text-xs text-ink-3">
            Accept that the code has changed, because (recorded in the run)
          </span>
          <input
            value={choice.divergence}
            placeholder="Leave it empty unless the forecast says that it diverges"
            className={FIELD}
            onChange={({ target }) => change({ divergence: target.value })}
          />
        </label>
      </div>
    </details>
  );
}
