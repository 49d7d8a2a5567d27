import type { ReactNode } from "react";
import { navigate } from "wouter/use-browser-location";
import { callPath, waitPath } from "../../../browser/places.ts";
import { Button } from "../../../parts/controls/button.tsx";
import { VisibleLine } from "../../../parts/text/visible.tsx";
import { viewPath } from "../run-params.ts";
import type { Run } from "./standing-words.ts";

type Act = Run["next"][number]["acts"][number];

/** What is opened below or over the box. */
export type OpenedAct =
  | { readonly kind: "resume" }
  | { readonly kind: "cancel" }
  | { readonly kind: "fork" }
  | { readonly kind: "send"; readonly event: string | null };

/** An act as a button: the answers to one question are one, which leads to where it can be answered with care. */
export type ButtonAct =
  | { readonly kind: "answer"; readonly waitId: string }
  | { readonly kind: "settle"; readonly callId: string }
  | { readonly kind: "send"; readonly event: string | null }
  | { readonly kind: "resume" }
  | { readonly kind: "follow" | "list_waits" };

/** The buttons of the next steps, in their order, each once. Cancelling has a place of its own. */
export function buttonActs(next: Run["next"]): readonly ButtonAct[] {
  const acts = next.flatMap((step) => step.acts).flatMap(buttonAct);
  return [...new Map(acts.map((act) => [JSON.stringify(act), act])).values()];
}

function buttonAct(act: Act): readonly ButtonAct[] {
  switch (act.act) {
    case "approve":
    case "deny":
    case "answer":
      return [{ kind: "answer", waitId: act.waitId }];
    case "settle":
      return [{ kind: "settle", callId: act.callId }];
    case "send":
      return [{ kind: "send", event: act.event }];
    case "chat":
      return [{ kind: "send", event: null }];
    case "resume":
      return [{ kind: "resume" }];
    case "follow":
    case "list_waits":
      return [{ kind: act.act }];
    // A bundle is made where the store is, by a command that the words of the step name.
    case "export_bundle":
    case "cancel":
      return [];
  }
}

export function ActButton({
  runId,
  act,
  isFirst,
  onOpen,
}: {
  readonly runId: string;
  readonly act: ButtonAct;
  readonly isFirst: boolean;
  readonly onOpen: (opened: OpenedAct) => void;
}): ReactNode {
  const kind = isFirst && act.kind !== "follow" ? "primary" : "plain";
  switch (act.kind) {
    case "answer":
      return (
        <Button kind={kind} onClick={() => navigate(waitPath(act.waitId))}>
          Answer…
        </Button>
      );
    case "settle":
      return (
        <Button kind={kind} onClick={() => navigate(settlePath(runId, act.callId))}>
          Settle…
        </Button>
      );
    case "send":
      return (
        <Button kind={kind} onClick={() => onOpen({ kind: "send", event: act.event })}>
          {act.event === null ? "Send a message" : <VisibleLine text={`Send ${act.event}`} />}
        </Button>
      );
    case "resume":
      return (
        <Button kind={kind} onClick={() => onOpen({ kind: "resume" })}>
          Resume…
        </Button>
      );
    case "follow":
      return (
        <Button kind={kind} onClick={() => navigate(viewPath(runId, { view: "transcript" }))}>
          Follow
        </Button>
      );
    case "list_waits":
      return (
        <Button
          kind={kind}
          onClick={() => navigate(`/waits?${new URLSearchParams({ run: runId }).toString()}`)}
        >
          All questions
        </Button>
      );
  }
}

/** Where a call is settled. A wait whose call was dropped is named by its own id. */
function settlePath(runId: string, callId: string): string {
  return callId.includes("#") ? callPath(runId, callId) : waitPath(callId);
}
