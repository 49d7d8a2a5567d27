import { ToolCallNotFoundError } from "../../core/errors.ts";
import { parseToolCallId } from "../../core/step-path.ts";
import { parseWaitId, type Settlement } from "../../core/wait.ts";
import type { StoreReader } from "../../store/store.ts";
import type { Command, CommandInput } from "../context/command.ts";
import { parseJsonArgument } from "../context/json-argument.ts";
import { cleanLine } from "../context/terminal-text.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { answered } from "../run/answered.ts";
import { withExistingStore } from "../run/command-store.ts";
import { completeId } from "../run/find-run.ts";
import { findWait } from "../run/find-wait.ts";
import { BY_OPTION, personOf } from "../screen/acting-person.ts";
import { formatValue } from "../screen/format.ts";

export const settle: Command = {
  name: "settle",
  summary: "Say what became of a tool call that nobody knows the outcome of",
  arguments: [{ name: "call", summary: "its id, such as q-1/research#2.1; or that of the wait about it" }],
  options: [
    { flags: "--succeeded <json>", summary: "it happened, and this is its result" },
    { flags: "--retry", summary: "it did not happen: run it" },
    { flags: "--failed <why>", summary: "it did not happen and is not to: the model is told why" },
    BY_OPTION,
  ],
  example: `pawl settle q-1/research#2.1 --succeeded '{"id":7}'`,
  execute: (context, input) =>
    withExistingStore(context, input, async (store) => {
      const settlement = settlementOf(input);
      const callId = await findCallId(store, input.argument("call"));
      await store.settle(callId, settlement, personOf(context, input));
      const runId = parseToolCallId(callId)?.runId ?? "";
      return answered(context, input, store, runId, `Settled ${callId}: ${said(settlement)}.`);
    }),
};

async function findCallId(store: StoreReader, text: string): Promise<string> {
  const id = await completeId(store, text);
  if (parseToolCallId(id) !== null) return id;
  const callId = parseWaitId(id) === null ? null : (await findWait(store, id)).toolCallId;
  if (callId !== null) return callId;
  throw new ToolCallNotFoundError(
    `${cleanLine(text)} is no tool call: \`pawl receipts <run> --in-doubt\` lists those that can be settled.`,
    { toolCallId: text },
  );
}

function settlementOf(input: CommandInput): Settlement {
  const [result, failed] = [input.text("succeeded"), input.text("failed")];
  const given = [result !== null, input.flag("retry"), failed !== null].filter(Boolean).length;
  if (given !== 1)
    throw new WrongUseError(
      "Say what became of it with one of --succeeded <json>, --retry and --failed <why>.",
    );
  if (result !== null) return { as: "succeeded", result: parseJsonArgument("--succeeded", result) };
  return failed === null ? { as: "retry" } : { as: "failed", why: failed };
}

function said(settlement: Settlement): string {
  switch (settlement.as) {
    case "succeeded":
      return `it succeeded with ${formatValue(settlement.result)}`;
    case "retry":
      return "it will run again";
    case "failed":
      return `it failed: ${formatValue(settlement.why)}`;
  }
}
