import type { Command } from "../context/command.ts";
import { parseJsonArgument } from "../context/json-argument.ts";
import { withExistingStore } from "../run/command-store.ts";
import { decisionResult } from "../run/decision-result.ts";
import { findWait } from "../run/find-wait.ts";
import { BY_OPTION, personOf } from "../screen/acting-person.ts";
import { formatValue } from "../screen/format.ts";

export const answer: Command = {
  name: "answer",
  summary: "Answer a run's question, or raise a budget it has used up",
  arguments: [
    { name: "wait", summary: "the wait's id, or the id of a run with one open wait" },
    { name: "text", summary: "the answer as text; for a budget, the new limit" },
  ],
  options: [{ flags: "--json-value", summary: "parse the answer as JSON" }, BY_OPTION],
  example: "pawl answer q-1~1 'the one in Berlin'",
  execute: (context, input) =>
    withExistingStore(context, input, async (store) => {
      const text = input.argument("text");
      // Text by default: an answer such as 007 or true only looks like JSON.
      const value = input.flag("jsonValue") ? parseJsonArgument("--json-value", text) : text;
      const { waitId, runId } = await findWait(store, input.argument("wait"));
      await store.answer(waitId, value, personOf(context, input));
      return decisionResult(context, input, store, runId, `Answered ${waitId}: ${formatValue(value)}.`);
    }),
};
