import { runDocument } from "../../account/documents/run-documents.ts";
import type { ResumeOutcome, ResumeRequest, Store } from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput, CommandResult } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";
import { paragraph } from "../context/terminal-text.ts";
import { personOf } from "../screen/acting-person.ts";
import { type CommandStep, formatNextSteps } from "../screen/next-steps.ts";

/** Leaves the resume to a worker. */
export async function enqueueResume(
  context: CliContext,
  input: CommandInput,
  store: Store,
  runId: string,
  request: ResumeRequest,
): Promise<CommandResult> {
  const outcome = await store.requestResume(runId, request, personOf(context, input));
  const { text, next } = toldOf(input, runId, outcome);
  const run = "run" in outcome ? { run: runDocument(outcome.run, context.clock.now()) } : {};
  const owner = outcome.kind === "busy" ? { owner: outcome.owner } : {};
  return {
    exitCode: outcome.kind === "requested" ? 0 : 1,
    document: { kind: outcome.kind, runId, ...run, ...owner, next },
    text: `${paragraph(text, context.stdout.columns)}${formatNextSteps(context, next)}`,
  };
}

function toldOf(
  input: CommandInput,
  runId: string,
  outcome: ResumeOutcome,
): { readonly text: string; readonly next: readonly CommandStep[] } {
  const follow = { what: "Follow it", commands: [commandHint(input, "tail", runId, "--follow")] };
  const show = { what: "Show it", commands: [commandHint(input, "show", runId)] };
  switch (outcome.kind) {
    case "requested":
      return { text: `Run ${runId} is queued: the next worker resumes it.`, next: [follow] };
    case "busy":
      return { text: `Run ${runId} is held by ${outcome.owner}, which works on it.`, next: [follow] };
    case "over": {
      const { status } = outcome.run;
      const how = status === "moved" ? "was moved to another store" : `has already ${status}`;
      return { text: `Run ${runId} ${how}: there is nothing to resume.`, next: [show] };
    }
    case "changed":
      return { text: `Run ${runId} has changed meanwhile: look at it, and ask again.`, next: [show] };
  }
}
