import { type ReactNode, useState } from "react";
import type { WaitDetail } from "../../api/documents.ts";
import { Button } from "../../parts/controls/button.tsx";
import { Dialog } from "../../parts/controls/dialog.tsx";
import { TextArea } from "../../parts/controls/field.tsx";
import { Hash } from "../../parts/text/id.tsx";
import { RecordedAs } from "../../parts/text/recorded-as.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { parseJson } from "./answer-form.tsx";
import type { WaitAct } from "./use-wait-act.ts";

type DialogProps = {
  readonly wait: WaitDetail;
  readonly isBusy: boolean;
  readonly onAct: (act: WaitAct) => void;
  readonly onClose: () => void;
};

/** Confirms an approval: what was read is what runs. */
export function ApproveDialog({ wait, isBusy, onAct, onClose }: DialogProps): ReactNode {
  const approve = (): void => {
    if (!isBusy) onAct({ act: "approve" });
  };
  return (
    <Dialog
      title={
        <>
          Let <VisibleLine text={wait.tool ?? "the call"} /> run?
        </>
      }
      onClose={onClose}
      onConfirm={approve}
      footer={
        <Footer label="Approve" kind="primary" isReady={!isBusy} onConfirm={approve} onClose={onClose} />
      }
    >
      <p>
        It is sent with exactly the arguments that are shown. If they have changed since, nothing is sent.
      </p>
      {wait.argumentsHash !== null && (
        <p className="mt-2 text-xs text-ink-3">
          hash <Hash hash={wait.argumentsHash} />
        </p>
      )}
    </Dialog>
  );
}

/** Denies a call or a budget. The reason is where to write what to do instead. */
export function DenyDialog({ wait, isBusy, onAct, onClose }: DialogProps): ReactNode {
  const [why, setWhy] = useState("");
  const isReady = why.trim() !== "" && !isBusy;
  const deny = (): void => {
    if (isReady) onAct({ act: "deny", why: why.trim() });
  };
  const isBudget = wait.kind === "budget";
  return (
    <Dialog
      title={
        isBudget ? (
          "Deny a higher limit?"
        ) : (
          <>
            Deny <VisibleLine text={wait.tool ?? "the call"} />?
          </>
        )
      }
      onClose={onClose}
      onConfirm={deny}
      footer={<Footer label="Deny" kind="danger" isReady={isReady} onConfirm={deny} onClose={onClose} />}
    >
      <TextArea
        label="Why"
        autoFocus
        placeholder={isBudget ? "" : "Do not send it. Instead, …"}
        hint={
          isBudget
            ? "The run ends. The reason is stored with it."
            : "The model sees the reason, and can do something else."
        }
        value={why}
        maxLength={10_000}
        onChange={({ target }) => setWhy(target.value)}
      />
    </Dialog>
  );
}

const WAYS = {
  succeeded: { label: "It happened", hint: "Its result is recorded. It is not sent again." },
  retry: { label: "It did not happen: run it", hint: "It is sent again, with the same idempotency key." },
  failed: { label: "It did not happen, and must not", hint: "The model sees the reason." },
} as const;
type Way = keyof typeof WAYS;

/** Settles a call in doubt, in one of three ways. */
export function SettleDialog({ wait, isBusy, onAct, onClose }: DialogProps): ReactNode {
  const [way, setWay] = useState<Way | null>(null);
  const [text, setText] = useState("");
  const parsed = parseJson(text);
  const isReady =
    !isBusy &&
    (way === "retry" ||
      (way === "failed" && text.trim() !== "") ||
      (way === "succeeded" && parsed.problem === null));
  const settle = (): void => {
    if (!isReady || way === null) return;
    if (way === "retry") onAct({ act: "settle", as: "retry" });
    else if (way === "failed") onAct({ act: "settle", as: "failed", why: text.trim() });
    else onAct({ act: "settle", as: "succeeded", result: parsed.value });
  };
  return (
    <Dialog
      title={
        <>
          What became of <VisibleLine text={wait.tool ?? "the call"} />?
        </>
      }
      onClose={onClose}
      onConfirm={settle}
      footer={
        <Footer
          label={way === "retry" ? "Run it again" : "Settle"}
          kind={way === "retry" ? "danger" : "primary"}
          isReady={isReady}
          onConfirm={settle}
          onClose={onClose}
        />
      }
    >
      <fieldset className="flex flex-col gap-2">
        <legend className="sr-only">What became of it</legend>
        {(Object.keys(WAYS) as Way[]).map((each) => (
          <label key={each} className="flex items-start gap-2">
            <input
              type="radio"
              name="way"
              checked={way === each}
              onChange={() => setWay(each)}
              className="mt-1 accent-accent"
            />
            <span>
              {WAYS[each].label}
              <span className="block text-xs text-ink-3">{WAYS[each].hint}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {(way === "succeeded" || way === "failed") && (
        <div className="mt-3">
          <TextArea
            key={way}
            autoFocus
            label={way === "succeeded" ? "Its result, as JSON" : "Why"}
            placeholder={way === "succeeded" ? '{ "id": "…" }' : ""}
            value={text}
            problem={way === "succeeded" && text !== "" ? parsed.problem : null}
            onChange={({ target }) => setText(target.value)}
          />
        </div>
      )}
    </Dialog>
  );
}

type FooterProps = {
  readonly label: string;
  readonly kind: "primary" | "danger";
  readonly isReady: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
};

function Footer({ label, kind, isReady, onConfirm, onClose }: FooterProps): ReactNode {
  const isMac = navigator.userAgent.includes("Mac");
  return (
    <>
      <RecordedAs />
      <Button onClick={onClose}>Back</Button>
      <Button kind={kind} disabled={!isReady} onClick={onConfirm}>
        {label}
        <kbd className="opacity-75">{isMac ? "⌘ Enter" : "Ctrl Enter"}</kbd>
      </Button>
    </>
  );
}
