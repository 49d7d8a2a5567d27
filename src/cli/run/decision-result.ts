import { waitDocument } from "../../account/documents/conversation-documents.ts";
import { runDocument } from "../../account/documents/run-documents.ts";
import { nextSteps } from "../../account/next-steps.ts";
import { RunNotFoundError } from "../../core/errors.ts";
import type { Store } from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput, CommandResult } from "../context/command.ts";
import { paragraph } from "../context/terminal-text.ts";
import { commandSteps, formatNextSteps } from "../screen/next-steps.ts";

/** The result of a command that records a person's decision: what was done, what is still asked, and how to resume. */
export async function decisionResult(
  context: CliContext,
  input: CommandInput,
  store: Store,
  runId: string,
  did: string,
): Promise<CommandResult> {
  const run = await store.getRun(runId);
  if (run === null) throw new RunNotFoundError(`Run ${runId} no longer exists.`, { runId });
  const waits = await store.listWaits(runId);
  const now = context.clock.now();
  const next = commandSteps(input, nextSteps(run, waits, await store.listToolCalls(runId), now));
  const open = waits.filter(({ status }) => status === "open");
  return {
    exitCode: 0,
    document: { did, run: runDocument(run, now), waits: open.map(waitDocument), next },
    text: `${paragraph(did, context.stdout.columns)}${formatNextSteps(context, next)}`,
  };
}
