import type { Command } from "../context/command.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { answered } from "../run/answered.ts";
import { withExistingStore } from "../run/command-store.ts";
import { findWait } from "../run/find-wait.ts";
import { BY_OPTION, personOf } from "../screen/acting-person.ts";

export const deny: Command = {
  name: "deny",
  summary: "Refuse a tool call, or a higher budget, and say why",
  arguments: [{ name: "wait", summary: "its id; or its run, where that asks one question" }],
  options: [{ flags: "--why <why>", summary: "what whoever asked is told; needed" }, BY_OPTION],
  example: "pawl deny q-1~1 --why 'This customer wants no mail.'",
  execute: (context, input) =>
    withExistingStore(context, input, async (store) => {
      const why = input.text("why");
      if (why === null)
        throw new WrongUseError("A refusal needs a reason, which the model is told: add --why 'because …'.");
      const { waitId, runId, kind } = await findWait(store, input.argument("wait"));
      await store.deny(waitId, why, personOf(context, input));
      const effect = kind === "budget" ? "the run ends when it is resumed" : "the call will not run";
      return answered(context, input, store, runId, `Denied ${waitId}: ${effect}.`);
    }),
};
