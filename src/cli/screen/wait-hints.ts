import type { Act } from "../../account/act.ts";
import { waitActs } from "../../account/wait-acts.ts";
import type { WaitRecord } from "../../store/store.ts";
import type { CommandInput } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";

/** The commands that answer a wait, the most likely one first. */
export function waitHints(input: CommandInput, wait: WaitRecord): readonly string[] {
  return waitActs(wait).map((act) => actCommand(input, act));
}

/** The command of an act, ready to paste. `…` and `{…}` stand for what only the person knows. */
export function actCommand(input: CommandInput, act: Act): string {
  return commandHint(input, ...wordsOf(act));
}

function wordsOf(act: Act): readonly string[] {
  switch (act.act) {
    case "approve":
      return ["approve", act.waitId];
    case "deny":
      return ["deny", act.waitId, "--why", "…"];
    case "answer":
      return ["answer", act.waitId, act.suggested ?? "…"];
    case "settle":
      return ["settle", act.callId, ...SETTLEMENTS[act.as]];
    case "resume":
      return ["resume", act.runId];
    case "cancel":
      return ["cancel", act.runId];
    case "follow":
      return ["tail", act.runId, "--follow"];
    case "send":
      return act.event === null ? ["send", act.runId, "…"] : ["send", act.runId, "--event", act.event, "{…}"];
    case "chat":
      return ["chat", act.runId];
    case "list_waits":
      return ["waits", act.runId];
    case "export_bundle":
      return ["export", act.runId, "--bundle", "FILE", "--to", act.to];
  }
}

const SETTLEMENTS = {
  succeeded: ["--succeeded", "{…}"],
  retry: ["--retry"],
  failed: ["--failed", "…"],
} as const;
