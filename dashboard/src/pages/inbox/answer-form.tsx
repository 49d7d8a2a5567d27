import { type ReactNode, type SyntheticEvent, useState } from "react";
import type { WaitDetail } from "../../api/documents.ts";
import { Button } from "../../parts/controls/button.tsx";
import { TextArea, TextField } from "../../parts/controls/field.tsx";
import { RecordedAs } from "../../parts/text/recorded-as.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import type { WaitAct } from "./use-wait-act.ts";
import { numberOf } from "./wait-words.ts";

type FormProps = {
  readonly wait: WaitDetail;
  readonly isBusy: boolean;
  readonly onAct: (act: WaitAct) => void;
  /** Other ways to decide. */
  readonly beside: ReactNode;
};

/** Sends what a form holds on its button, and on Ctrl+Enter or ⌘+Enter. */
function Form({
  onSend,
  isReady,
  label,
  beside,
  children,
}: {
  readonly onSend: () => void;
  readonly isReady: boolean;
  readonly label: string;
  readonly beside: ReactNode;
  readonly children: ReactNode;
}): ReactNode {
  const send = (event: SyntheticEvent): void => {
    event.preventDefault();
    if (isReady) onSend();
  };
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={send}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) send(event);
      }}
    >
      {children}
      <div className="flex items-center justify-between gap-2 border-t border-line pt-3">
        <RecordedAs />
        {beside}
        <Button type="submit" kind="primary" disabled={!isReady}>
          {label}
        </Button>
      </div>
    </form>
  );
}

/** The answer to a question: one of its choices, a text, or JSON. */
export function AnswerForm({ wait, isBusy, onAct, beside }: FormProps): ReactNode {
  const [text, setText] = useState("");
  const [choice, setChoice] = useState<string | null>(null);
  const [isJson, setJson] = useState(false);
  const parsed = isJson ? parseJson(text) : { value: text, problem: null };
  const value = choice ?? parsed.value;
  const isReady = !isBusy && (choice !== null || (text.trim() !== "" && parsed.problem === null));
  return (
    <Form label="Answer" beside={beside} isReady={isReady} onSend={() => onAct({ act: "answer", value })}>
      {wait.choices.length > 0 && (
        <fieldset className="flex flex-col gap-1">
          <legend className="mb-1 font-medium">Your answer</legend>
          {wait.choices.map((each) => (
            <label key={each} className="flex items-center gap-2">
              <input
                type="radio"
                name="choice"
                checked={choice === each}
                onChange={() => setChoice(each)}
                className="accent-accent"
              />
              <VisibleLine text={each} />
            </label>
          ))}
        </fieldset>
      )}
      <TextArea
        label={wait.choices.length > 0 ? "Or something else" : "Your answer"}
        value={text}
        problem={text === "" ? null : parsed.problem}
        className={`w-full rounded-md border border-edge bg-panel px-2 py-1 ${isJson ? "font-mono text-xs" : ""}`}
        onChange={({ target }) => {
          setText(target.value);
          setChoice(null);
        }}
      />
      <label className="flex items-center gap-2 text-ink-2">
        <input
          type="checkbox"
          checked={isJson}
          onChange={({ target }) => setJson(target.checked)}
          className="accent-accent"
        />
        The text is JSON
      </label>
    </Form>
  );
}

/** A new limit for a run that has used up a budget. Twice the old one is a number that works. */
export function BudgetForm({ wait, isBusy, onAct, beside }: FormProps): ReactNode {
  const limit = numberOf(wait.subject, "limit");
  const used = numberOf(wait.subject, "used") ?? 0;
  const [text, setText] = useState(limit === null ? "" : String(limit * 2));
  const given = Number(text);
  const isEnough = text.trim() !== "" && Number.isFinite(given) && given > 0 && given >= used;
  return (
    <Form
      label={isEnough ? `Set the limit to ${given.toLocaleString("en-US")}` : "Set the limit"}
      beside={beside}
      isReady={isEnough && !isBusy}
      onSend={() => onAct({ act: "answer", value: given })}
    >
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
        <dt className="text-ink-3">limit</dt>
        <dd>{limit?.toLocaleString("en-US") ?? "–"}</dd>
        <dt className="text-ink-3">used</dt>
        <dd>{used.toLocaleString("en-US")}</dd>
      </dl>
      <TextField
        label="New limit"
        inputMode="decimal"
        value={text}
        problem={
          isEnough || text === "" ? null : `Enter a number of at least ${used}: so much is needed now.`
        }
        onChange={({ target }) => setText(target.value)}
      />
    </Form>
  );
}

export function parseJson(
  text: string,
):
  | { readonly value: WaitDetail["answer"]; readonly problem: null }
  | { readonly value: null; readonly problem: string } {
  try {
    return { value: JSON.parse(text) as WaitDetail["answer"], problem: null };
  } catch {
    return { value: null, problem: "This is not JSON." };
  }
}
