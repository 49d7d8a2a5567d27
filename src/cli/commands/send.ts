import { randomUUID } from "node:crypto";
import { RunNotFoundError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { filesIn, type UserPart } from "../../core/message.ts";
import { readUserMessage } from "../../core/run/sent-message.ts";
import type { NewMessage, SentMessage, Store } from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandInput, CommandResult } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";
import { parseJsonArgument } from "../context/json-argument.ts";
import { readSentFile } from "../context/sent-files.ts";
import { cleanLine, paragraph } from "../context/terminal-text.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { withExistingStore } from "../run/command-store.ts";
import { findRun } from "../run/find-run.ts";
import { BY_OPTION, personOf } from "../screen/acting-person.ts";
import { formatNextSteps } from "../screen/next-steps.ts";

export const send: Command = {
  name: "send",
  summary: "Send a message to a run: a text for a conversation, or an event that it waits for, now or later",
  arguments: [
    { name: "run", summary: "the run's id, a prefix of it, or its address" },
    { name: "data", summary: "the text; of an event its data: JSON, or a text", isOptional: true },
  ],
  options: [
    {
      flags: "--file <path>",
      summary: "a picture or another file to send with the text, or alone",
      isRepeatable: true,
    },
    { flags: "--event <name>", summary: "the name of the event; without it, the message is a text" },
    {
      flags: "--mode <mode>",
      summary: "what a text does while the agent answers: queue, steer or interrupt",
    },
    { flags: "--id <id>", summary: "your own id of the message; the same id again is the same message" },
    BY_OPTION,
  ],
  example: `pawl send q-1 '{"amount":40}' --event payment.confirmed --id delivery-7`,
  execute: (context, input) =>
    withExistingStore(context, input, async (store) => {
      const event = input.text("event");
      const contents = event === null ? await textOf(context, input) : eventOf(input, event);
      const id = input.text("id") ?? randomUUID();
      if (id.trim() === "")
        throw new WrongUseError("--id is blank: give your own id of the message, or leave it out.");
      const message = { id, ...contents, by: personOf(context, input) };
      const runId = await addressee(store, input.argument("run"));
      return resultOf(context, input, message, await store.sendMessage(runId, message));
    }),
};

async function addressee(store: Store, word: string): Promise<string> {
  const found = await store.findAddress(word);
  if (found !== null) return found;
  try {
    return (await findRun(store, word)).runId;
  } catch (error) {
    if (!RunNotFoundError.isInstance(error)) throw error;
    const problem = `No run of this store has the id or the address ${cleanLine(word)}`;
    throw new RunNotFoundError(
      `${problem}: a run has its address until it has ended; \`pawl ls\` lists the runs.`,
      error.details,
    );
  }
}

const MODES = ["queue", "steer", "interrupt"] as const;

/** A text for a conversation, with its files. */
async function textOf(context: CliContext, input: CommandInput): Promise<Omit<NewMessage, "id" | "by">> {
  const text = input.optionalArgument("data");
  const paths = input.list("file");
  if (text === null && paths.length === 0)
    throw new WrongUseError(
      "send needs a text, a file, or the name of an event: add --event payment.confirmed.",
    );
  const given = input.text("mode");
  const mode = MODES.find((each) => each === given);
  if (given !== null && mode === undefined)
    throw new WrongUseError(`There is no mode ${JSON.stringify(given)}: use queue, steer or interrupt.`);
  const modes = mode === undefined ? {} : { mode };
  if (paths.length === 0) return { event: null, body: text, ...modes };
  const parts: UserPart[] = text === null || text === "" ? [] : [{ type: "text", text }];
  for (const path of paths) parts.push(await readSentFile(path, context.cwd));
  return { event: null, ...readUserMessage({ parts }), ...modes };
}

function eventOf(input: CommandInput, event: string): Pick<NewMessage, "event" | "body"> {
  if (input.list("file").length > 0)
    throw new WrongUseError("--file is for a text, and --event sends an event: leave one of them out.");
  return { event, body: dataOf(input) };
}

/** JSON where it is JSON, otherwise the text itself. A text that begins like JSON is a mistake in it. */
function dataOf(input: CommandInput): Json {
  const text = input.optionalArgument("data");
  if (text === null) return null;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return /^\s*[{["]/.test(text) ? parseJsonArgument("data", text) : text;
  }
}

function resultOf(
  context: CliContext,
  input: CommandInput,
  { id, event, body }: NewMessage,
  { runId, status, reason, isDuplicate }: SentMessage,
): CommandResult {
  const next = [{ what: "Show the run", commands: [commandHint(input, "show", runId)] }];
  const files = event === null ? filesIn(body) : [];
  const text = `${isDuplicate ? "It was sent before. " : ""}${SENTENCES[status](runId, reason ?? "")}`;
  return {
    exitCode: status === "returned" ? 1 : 0,
    text: `${paragraph(text, context.stdout.columns)}${formatNextSteps(context, next)}`,
    document: { runId, messageId: id, status, reason, duplicate: isDuplicate, files, next },
  };
}

const SENTENCES: { readonly [S in SentMessage["status"]]: (runId: string, reason: string) => string } = {
  taken: (runId) => `Run ${runId} has received the message.`,
  waiting: (runId) => `The message is in the mailbox of run ${runId}, until something waits for it.`,
  withdrawn: (runId) => `The message to run ${runId} was withdrawn.`,
  returned: (runId, reason) =>
    reason === "no_conversation"
      ? `The message was returned: run ${runId} is no conversation, and takes no texts. Send an event, with --event.`
      : `The message was returned: run ${runId} has ${reason}.`,
};
