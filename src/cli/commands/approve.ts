import type { Command } from "../context/command.ts";
import { answered } from "../run/answered.ts";
import { withExistingStore } from "../run/command-store.ts";
import { findWait } from "../run/find-wait.ts";
import { BY_OPTION, personOf, stillNeeded } from "../screen/acting-person.ts";
import { formatValue } from "../screen/format.ts";

export const approve: Command = {
  name: "approve",
  summary: "Let a tool call run, with just the arguments that were shown",
  arguments: [{ name: "wait", summary: "its id; or its run, where that asks one question" }],
  options: [BY_OPTION],
  example: "pawl approve q-1~1",
  execute: (context, input) =>
    withExistingStore(context, input, async (store) => {
      const { waitId, runId, subject } = await findWait(store, input.argument("wait"));
      await store.approve(waitId, personOf(context, input));
      const call = `${formatValue(subject.tool ?? null)} with ${formatValue(subject.arguments ?? null)}`;
      const left = (await store.listWaits(runId)).find((wait) => wait.waitId === waitId);
      const more = left?.status === "open" ? ` ${stillNeeded(left)}` : "";
      return answered(context, input, store, runId, `Approved ${waitId}: ${call}.${more}`);
    }),
};
