import { hasEnded } from "../../account/run-status.ts";
import { ConfigurationError, RunNotFoundError } from "../../core/errors.ts";
import { assertRunId } from "../../core/step-path.ts";
import { newRunId } from "../../engine/runner/new-run-id.ts";
import { openStore } from "../../store/open-store.ts";
import type { RunRecord, Store } from "../../store/store.ts";
import type { ChatWork } from "../chat/chat-run.ts";
import { type LoadedConfig, loadConfig, resolveStore } from "../config/config-file.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandInput, CommandResult } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { beginsWithConversation, chatPipeline, isKnownToWorkers } from "../job/chat-pipeline.ts";
import { findPipeline, needsInput, pipelineOfRun } from "../job/run-target.ts";
import { redactionKeyIn, withExistingStore } from "../run/command-store.ts";
import { findRun } from "../run/find-run.ts";
import { isJobRun } from "../run/run-work.ts";
import { BY_OPTION, personOf } from "../screen/acting-person.ts";
import { canAsk } from "../screen/ask-person.ts";

/** So many exchanges of a conversation that continues are shown. */
const SHOWN = 3;

export const chat: Command = {
  name: "chat",
  summary: "Talk with an agent: begin a conversation, or continue one",
  arguments: [
    { name: "agent", summary: "an agent or a conversation of pawl.config.ts; or a run: its id, or a prefix" },
  ],
  options: [
    { flags: "--run-id <id>", summary: "the id of the run; an existing conversation continues" },
    { flags: "--send-only", summary: "only send and watch: a worker answers" },
    { flags: "--last <n>", summary: "show so many exchanges of before (default: 3)" },
    BY_OPTION,
  ],
  example: "pawl chat clerk",
  execute: async (context, input) => {
    const last = input.wholeNumber("last", 0) ?? SHOWN;
    const loaded = await loadConfig(context, input.text("config") ?? undefined);
    const word = input.argument("agent");
    const named = findPipeline(loaded, word);
    if (named === null) {
      if (input.text("runId") !== null)
        throw new WrongUseError(
          `--run-id names the run, and ${word} is no agent of pawl.config.ts: leave out one of them.`,
        );
      return withExistingStore(
        context,
        input,
        async (store) =>
          talk(await workWith(context, input, loaded, store, await foundRun(loaded, store, word)), last),
        { loaded },
      );
    }
    const pipeline = chatPipeline(named);
    if (input.flag("sendOnly") && !isKnownToWorkers(named))
      throw new WrongUseError(
        `--send-only needs a worker, and workers do not have ${word} as a conversation: put conversation(${word}) into the pipelines of pawl.config.ts, or leave out --send-only.`,
      );
    const url = resolveStore(context, loaded, input.text("store") ?? undefined);
    const store = await openStore(url, redactionKeyIn(context, url));
    try {
      return await talk(await withAgent(context, input, loaded, store, pipeline), last);
    } finally {
      await store.close({ graceMs: 0 });
    }
  },
};

async function talk(work: ChatWork, last: number): Promise<CommandResult> {
  const { context, input } = work;
  if (!input.json && canAsk(context)) {
    const { chatOnTerminal } = await import("../chat/terminal-chat.ts");
    return chatOnTerminal(work, last);
  }
  const { chatInPipe } = await import("../chat/piped-chat.ts");
  return chatInPipe(work);
}

/** A new conversation, or the one with the given id. */
async function withAgent(
  context: CliContext,
  input: CommandInput,
  loaded: LoadedConfig,
  store: Store,
  pipeline: NonNullable<ChatWork["pipeline"]>,
): Promise<ChatWork> {
  const runId = input.text("runId") ?? newRunId();
  assertRunId(runId);
  const found = await store.getRun(runId);
  if (found !== null && found.pipeline !== pipeline.name)
    throw new ConfigurationError(
      `Run ${runId} is one of ${found.pipeline}, and not of ${pipeline.name}: leave out the agent (\`${commandHint(input, "chat", runId)}\`), or give another --run-id.`,
    );
  if (found === null && needsInput(pipeline) && !beginsWithConversation(pipeline))
    throw new WrongUseError(
      `${pipeline.name} begins with an agent that needs an input: start it with \`pawl run ${pipeline.name} --input …\`, and chat with that run.`,
    );
  if (found !== null) return workWith(context, input, loaded, store, found);
  const person = personOf(context, input);
  const sendOnly = input.flag("sendOnly");
  return { context, input, loaded, store, pipeline, isJob: false, runId, person, found, sendOnly };
}

/** A conversation that exists. A run of a job file keeps the limits of job files. */
async function workWith(
  context: CliContext,
  input: CommandInput,
  loaded: LoadedConfig,
  store: Store,
  found: RunRecord,
): Promise<ChatWork> {
  const { runId } = found;
  assertOpen(input, found);
  const person = personOf(context, input);
  const isJob = await isJobRun(store, found);
  const sendOnly = input.flag("sendOnly");
  const pipeline = sendOnly ? null : await pipelineOfRun(context, loaded, found, { isJob });
  // It refuses what nobody can talk to.
  if (pipeline !== null) chatPipeline(pipeline);
  return { context, input, loaded, store, pipeline, isJob, runId, person, found, sendOnly };
}

async function foundRun(loaded: LoadedConfig, store: Store, word: string): Promise<RunRecord> {
  const address = await store.findAddress(word);
  try {
    return await findRun(store, address ?? word);
  } catch (error) {
    if (!RunNotFoundError.isInstance(error)) throw error;
    const names = Object.keys(loaded.config.pipelines ?? {});
    const known = names.length === 0 ? "no pipelines" : names.join(", ");
    throw new RunNotFoundError(
      `There is no agent and no run ${JSON.stringify(word)}: the configuration has ${known}, and \`pawl ls\` lists the runs.`,
      error.details,
    );
  }
}

/** A run that has ended takes no texts. */
function assertOpen(input: CommandInput, run: RunRecord): void {
  if (!hasEnded(run)) return;
  const { runId, status } = run;
  const how = status === "cancelled" || status === "moved" ? `was ${status}` : `has ${status}`;
  const resume = status === "failed" || status === "cancelled" ? commandHint(input, "resume", runId) : null;
  const next = resume === null ? "begin another one" : `\`${resume}\` continues it`;
  throw new ConfigurationError(`Run ${runId} ${how}, and takes no messages: ${next}.`, { runId });
}
