import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useId, useState } from "react";
import type { Json } from "../../../../../src/core/json.ts";
import { useDashboard } from "../../../live/dashboard-context.ts";
import { Button } from "../../../parts/controls/button.tsx";
import { Dialog } from "../../../parts/controls/dialog.tsx";
import { ProblemNotice } from "../../../parts/layout/notice.tsx";
import { JsonView } from "../../../parts/text/json-view.tsx";
import { RecordedAs } from "../../../parts/text/recorded-as.tsx";
import { VisibleLine } from "../../../parts/text/visible.tsx";
import { typedJson } from "../json-field.ts";
import type { Call } from "./call-documents.ts";

type Settlement =
  | { readonly as: "succeeded"; readonly result: Json }
  | { readonly as: "failed"; readonly why: string }
  | { readonly as: "retry" };

const WAYS = [
  ["succeeded", "It happened", "Its result becomes the receipt, and it is not sent again."],
  ["retry", "It did not happen: run it", "A worker sends it again, under the same idempotency key."],
  ["failed", "It did not happen, and shall not", "The model gets the reason, and continues without it."],
] as const;

/** What a person knows of a call in doubt, in one of three ways. */
export function SettleDialog({
  call,
  onClose,
}: {
  readonly call: Pick<Call, "toolCallId" | "tool" | "request">;
  readonly onClose: () => void;
}): ReactNode {
  const { client } = useDashboard();
  const queries = useQueryClient();
  const [as, setAs] = useState<Settlement["as"] | null>(null);
  const [result, setResult] = useState("");
  const [why, setWhy] = useState("");
  const settlement = settlementOf(as, result, why);
  const settle = useMutation({
    mutationFn: (body: Settlement) => client.settleCall({ callId: call.toolCallId }, body),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["run"] });
      onClose();
    },
  });
  const confirm = (): void => {
    if (settlement !== null && !settle.isPending) settle.mutate(settlement);
  };
  return (
    <Dialog
      title={
        <>
          Did <VisibleLine text={call.tool} /> happen?
        </>
      }
      onClose={onClose}
      onConfirm={confirm}
      footer={
        <>
          <RecordedAs />
          <Button onClick={onClose}>Leave it in doubt</Button>
          <Button kind="primary" disabled={settlement === null || settle.isPending} onClick={confirm}>
            Settle
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        {settle.error !== null && <ProblemNotice error={settle.error} what="Nothing was settled." />}
        <p className="text-ink-2">
          Look it up where it would have happened. What you say is the receipt of this call, for good.
        </p>
        <JsonView value={call.request} what="arguments" />
        <fieldset className="flex flex-col gap-2">
          <legend className="sr-only">What do you know?</legend>
          {WAYS.map(([way, title, meaning]) => (
            <Way key={way} title={title} meaning={meaning} isChosen={as === way} onChoose={() => setAs(way)}>
              {way === "succeeded" && <ResultField text={result} onText={setResult} />}
              {way === "failed" && <WhyField text={why} onText={setWhy} />}
            </Way>
          ))}
        </fieldset>
      </div>
    </Dialog>
  );
}

function settlementOf(as: Settlement["as"] | null, result: string, why: string): Settlement | null {
  switch (as) {
    case null:
      return null;
    case "retry":
      return { as };
    case "failed":
      return why.trim() === "" ? null : { as, why: why.trim() };
    case "succeeded": {
      const typed = typedJson(result);
      return typed.kind === "value" ? { as, result: typed.value } : null;
    }
  }
}

function Way({
  title,
  meaning,
  isChosen,
  onChoose,
  children,
}: {
  readonly title: string;
  readonly meaning: string;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <div className={`rounded-md border px-3 py-2 ${isChosen ? "border-accent bg-selected" : "border-line"}`}>
      <label className="flex cursor-pointer items-start gap-2">
        <input
          type="radio"
          name="settle"
          checked={isChosen}
          onChange={onChoose}
          className="mt-1 accent-accent"
        />
        <span>
          <span className="font-medium">{title}</span>
          <span className="block text-ink-2">{meaning}</span>
        </span>
      </label>
      {isChosen && children}
    </div>
  );
}

const FIELD = "mt-2 w-full rounded-md border border-edge bg-panel px-2 py-1";

function ResultField({
  text,
  onText,
}: {
  readonly text: string;
  readonly onText: (text: string) => void;
}): ReactNode {
  const id = useId();
  const typed = typedJson(text);
  const isWrong = text !== "" && typed.kind === "invalid";
  return (
    <>
      <textarea
        autoFocus
        rows={4}
        spellCheck={false}
        aria-label="Its result, as JSON"
        aria-invalid={isWrong}
        aria-describedby={id}
        placeholder='{"id": "msg-81"}'
        value={text}
        onChange={({ target }) => onText(target.value)}
        className={`${FIELD} font-mono text-xs`}
      />
      <p id={id} className={`text-xs ${isWrong ? "text-failed" : "text-ink-3"}`}>
        {isWrong ? typed.why : "Its result, as JSON: null if it has none."}
      </p>
    </>
  );
}

function WhyField({
  text,
  onText,
}: {
  readonly text: string;
  readonly onText: (text: string) => void;
}): ReactNode {
  return (
    <textarea
      autoFocus
      rows={2}
      aria-label="Why it shall not happen"
      placeholder="Why: the model sees this"
      value={text}
      onChange={({ target }) => onText(target.value)}
      className={FIELD}
    />
  );
}
