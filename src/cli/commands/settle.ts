import { ToolCallNotFoundError } from "../../core/errors.ts";
import { parseToolCallId } from "../../core/step-path.ts";
import { parseWaitId, type Settlement } from "../../core/wait.ts";
import type { StoreReader } from "../../store/store.ts";
import type { Command, CommandInput } from "../context/command.ts";
import { parseJsonArgument } from "../context/json-argument.ts";
import { cleanLine } from "../context/terminal-text.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { withExistingStore } from "../run/command-store.ts";
import { decisionResult } from "../run/decision-result.ts";
import { completeId } from "../run/find-run.ts";
import { findWait } from "../run/find-wait.ts";
import { BY_OPTION, personOf } from "../screen/acting-person.ts";
import { formatValue } from "../screen/format.ts";

export const settle: Command = {
  name: "settle",
  summary: "Record the outcome of a tool call in doubt",
  arguments: [{ name: "call", summary: "the call's id, such as q-1/research#2.1, or the id of its wait" }],
  options: [
    { flags: "--succeeded <json>", summary: "it happened, and this is its result" },
    { flags: "--retry", summary: "it did not happen: run it again" },
    { flags: "--failed <why>", summary: "it did not happen and must not: the model sees the reason" },
    BY_OPTION,
  ],
  example: `pawl settle q-1/research#2.1 --succeeded '{"id":7}'`,
  execute: (context, input) =>
    withExistingStore(context, input, async (store) => {
      const settlement = settlementOf(input);
      const callId = await findCallId(store, input.argument("call"));
      await store.settle(callId, settlement, personOf(context, input));
      const runId = parseToolCallId(callId)?.runId ?? "";
      return decisionResult(
        context,
        input,
        store,
        runId,
        `Settled ${callId}: ${settlementText(settlement)}.`,
      );
    }),
};

async function findCallId(store: StoreReader, text: string): Promise<string> {
  const id = await completeId(store, text);
  if (parseToolCallId(id) !== null) return id;
  const callId = parseWaitId(id) === null ? null : (await findWait(store, id)).toolCallId;
  if (callId !== null) return callId;
  throw new ToolCallNotFoundError(
    `${cleanLine(text)} is not a tool call: \`pawl receipts <run> --in-doubt\` lists those that can be settled.`,
    { toolCallId: text },
  );
}

function settlementOf(input: CommandInput): Settlement {
  const [result, failed] = [input.text("succeeded"), input.text("failed")];
  const given = [result !== null, input.flag("retry"), failed !== null].filter(Boolean).length;
  if (given !== 1)
    throw new WrongUseError("Give the outcome with one of --succeeded <json>, --retry and --failed <why>.");
  if (result !== null) return { as: "succeeded", result: parseJsonArgument("--succeeded", result) };
  return failed === null ? { as: "retry" } : { as: "failed", why: failed };
}

function settlementText(settlement: Settlement): string {
  switch (settlement.as) {
    case "succeeded":
      return `it succeeded with ${formatValue(settlement.result)}`;
    case "retry":
      return "it will run again";
    case "failed":
      return `it failed: ${formatValue(settlement.why)}`;
  }
}
