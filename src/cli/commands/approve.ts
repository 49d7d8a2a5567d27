import { stillNeeded } from "../../account/approvers.ts";
import type { Command } from "../context/command.ts";
import { withExistingStore } from "../run/command-store.ts";
import { decisionResult } from "../run/decision-result.ts";
import { findWait } from "../run/find-wait.ts";
import { BY_OPTION, personOf } from "../screen/acting-person.ts";
import { formatValue } from "../screen/format.ts";

export const approve: Command = {
  name: "approve",
  summary: "Approve a tool call with exactly the arguments shown",
  arguments: [{ name: "wait", summary: "the wait's id, or the id of a run with one open wait" }],
  options: [BY_OPTION],
  example: "pawl approve q-1~1",
  execute: (context, input) =>
    withExistingStore(context, input, async (store) => {
      const { waitId, runId, subject } = await findWait(store, input.argument("wait"));
      await store.approve(waitId, personOf(context, input));
      const call = `${formatValue(subject.tool ?? null)} with ${formatValue(subject.arguments ?? null)}`;
      const left = (await store.listWaits(runId)).find((wait) => wait.waitId === waitId);
      const more = left?.status === "open" ? ` ${stillNeeded(left)}` : "";
      return decisionResult(context, input, store, runId, `Approved ${waitId}: ${call}.${more}`);
    }),
};
