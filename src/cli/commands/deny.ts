import type { Command } from "../context/command.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { withExistingStore } from "../run/command-store.ts";
import { decisionResult } from "../run/decision-result.ts";
import { findWait } from "../run/find-wait.ts";
import { BY_OPTION, personOf } from "../screen/acting-person.ts";

export const deny: Command = {
  name: "deny",
  summary: "Deny a tool call or a higher budget, with a reason",
  arguments: [{ name: "wait", summary: "the wait's id, or the id of a run with one open wait" }],
  options: [{ flags: "--why <why>", summary: "the reason, which the model sees; required" }, BY_OPTION],
  example: "pawl deny q-1~1 --why 'This customer wants no mail.'",
  execute: (context, input) =>
    withExistingStore(context, input, async (store) => {
      const why = input.text("why");
      if (why === null)
        throw new WrongUseError("A denial needs a reason, which the model sees: add --why 'because …'.");
      const { waitId, runId, kind } = await findWait(store, input.argument("wait"));
      await store.deny(waitId, why, personOf(context, input));
      const effect = kind === "budget" ? "the run ends when it is resumed" : "the call will not run";
      return decisionResult(context, input, store, runId, `Denied ${waitId}: ${effect}.`);
    }),
};
