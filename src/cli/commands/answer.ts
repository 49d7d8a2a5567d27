import type { Command } from "../context/command.ts";
import { parseJsonArgument } from "../context/json-argument.ts";
import { answered } from "../run/answered.ts";
import { withExistingStore } from "../run/command-store.ts";
import { findWait } from "../run/find-wait.ts";
import { BY_OPTION, personOf } from "../screen/acting-person.ts";
import { formatValue } from "../screen/format.ts";

export const answer: Command = {
  name: "answer",
  summary: "Answer a question of a run, or set a budget that it has used up higher",
  arguments: [
    { name: "wait", summary: "its id; or its run, where that asks one question" },
    { name: "text", summary: "the answer, taken as text; for a budget, the new limit" },
  ],
  options: [{ flags: "--json-value", summary: "the answer is JSON, and not text" }, BY_OPTION],
  example: "pawl answer q-1~1 'the one in Berlin'",
  execute: (context, input) =>
    withExistingStore(context, input, async (store) => {
      const text = input.argument("text");
      // Text unless said: an answer such as 007 or true is a text that only looks like JSON.
      const value = input.flag("jsonValue") ? parseJsonArgument("--json-value", text) : text;
      const { waitId, runId } = await findWait(store, input.argument("wait"));
      await store.answer(waitId, value, personOf(context, input));
      return answered(context, input, store, runId, `Answered ${waitId}: ${formatValue(value)}.`);
    }),
};
