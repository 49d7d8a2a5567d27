import { isCancel, select, text } from "@clack/prompts";
import { needsMore, stillNeeded } from "../../account/approvers.ts";
import { choicesOf, hiddenBecause } from "../../account/wait-acts.ts";
import { AlreadySettledError, ConfigurationError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import type { Settlement } from "../../core/wait.ts";
import type { Person, Store, WaitRecord } from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import { cleanLine, cleanText, wrap } from "../context/terminal-text.ts";
import { userOf } from "./acting-person.ts";
import { paint } from "./format.ts";

/** What is needed to ask the user at the terminal, and to store the answers. */
export type PromptContext = {
  readonly context: CliContext;
  readonly store: Store;
  /** Withdraws the question, unanswered. */
  readonly signal: AbortSignal;
  /** The user of the operating system by default. */
  readonly person?: Person;
};

/** True if there is a user at the terminal. */
export function canAsk({ stdin, stderr }: CliContext): boolean {
  return stdin.isTerminal && stderr.isTerminal;
}

/** Asks for each wait in turn. True if all of them are answered, so that the run can resume. */
export async function askPerson(prompt: PromptContext, waits: readonly WaitRecord[]): Promise<boolean> {
  let allAnswered = true;
  for (const wait of waits) {
    show(prompt.context, wait);
    if (!(await askAbout(prompt, wait))) allAnswered = false;
    if (prompt.signal.aborted) return false;
  }
  return allAnswered;
}

async function askAbout(prompt: PromptContext, wait: WaitRecord): Promise<boolean> {
  try {
    return await PROMPTS[wait.kind](prompt, wait);
  } catch (error) {
    if (!AlreadySettledError.isInstance(error)) throw error;
    prompt.context.stderr.write(`${cleanText(error.message)}\n`);
    return true;
  }
}

type WaitPrompt = (prompt: PromptContext, wait: WaitRecord) => Promise<boolean>;

const PROMPTS: { readonly [K in WaitRecord["kind"]]: WaitPrompt } = {
  approval: (prompt, wait) => permit(prompt, wait, "May it run?"),

  possible_duplicate: (prompt, wait) => permit(prompt, wait, "May it run as well?"),

  in_doubt: (prompt, wait) => settleIt(prompt, wait, "Did it happen?", SETTLEMENTS),

  escalation: async (prompt, wait) => {
    const ways = { ...SETTLEMENTS, answer: "Answer the tool call yourself" };
    return settleIt(prompt, wait, "What should be done?", ways);
  },

  question: async (prompt, { waitId, subject }) => {
    const value = await askFor(prompt, choicesOf(subject));
    return value !== null && done(prompt.store.answer(waitId, value, person(prompt)));
  },

  // Nothing that a person at the terminal could answer.
  time: () => Promise.resolve(false),

  message: () => Promise.resolve(false),

  budget: async (prompt, { waitId, subject }) => {
    const choice = await choose(prompt, "May it use more?", {
      more: "Yes, set a new limit",
      less: "No, give up",
    });
    if (choice === "less") {
      const why = await ask(prompt, "Why? The reason is stored with the run.", needed);
      return why !== null && done(prompt.store.deny(waitId, why, person(prompt)));
    }
    if (choice !== "more") return false;
    const limit = await ask(prompt, `The new ${nameOf(subject.budget)}:`, (given) =>
      limitProblem(given, subject.used),
    );
    return limit !== null && done(prompt.store.answer(waitId, Number(limit), person(prompt)));
  },
};

async function permit(
  prompt: PromptContext,
  { waitId, runId }: WaitRecord,
  message: string,
): Promise<boolean> {
  const choice = await choose(prompt, message, {
    approve: "Yes, with exactly these arguments",
    deny: "No",
  });
  if (choice === "approve") return approved(prompt, waitId, runId);
  if (choice !== "deny") return false;
  const why = await ask(prompt, "Why not? The model sees the reason.", needed);
  return why !== null && done(prompt.store.deny(waitId, why, person(prompt)));
}

/** False if more people must approve it, or if this user may not. */
async function approved(prompt: PromptContext, waitId: string, runId: string): Promise<boolean> {
  const { context, store } = prompt;
  const print = (text: string) => context.stderr.write(`${cleanText(text)}\n`);
  try {
    await store.approve(waitId, person(prompt));
  } catch (error) {
    if (!AlreadySettledError.isInstance(error) && !ConfigurationError.isInstance(error)) throw error;
    print(error.message);
  }
  const left = (await store.listWaits(runId)).find((wait) => wait.waitId === waitId);
  if (left?.status === "open") print(stillNeeded(left));
  return left?.status !== "open";
}

const SETTLEMENTS = {
  succeeded: "It happened",
  retry: "It did not happen: run it again",
  failed: "It did not happen, and must not",
} as const;

async function settleIt(
  prompt: PromptContext,
  { toolCallId, waitId }: WaitRecord,
  message: string,
  ways: { readonly [way: string]: string },
): Promise<boolean> {
  const choice = await choose(prompt, message, ways);
  if (choice === "answer") {
    const value = await ask(prompt, "The answer:", needed);
    return value !== null && done(prompt.store.answer(waitId, value, person(prompt)));
  }
  const settlement = await settlementOf(prompt, choice);
  if (settlement === null || toolCallId === null) return false;
  return done(prompt.store.settle(toolCallId, settlement, person(prompt)));
}

async function settlementOf(prompt: PromptContext, choice: string | null): Promise<Settlement | null> {
  if (choice === "retry") return { as: "retry" };
  if (choice === "succeeded") {
    const result = await ask(prompt, "What did it return? JSON or text.", needed);
    return result === null ? null : { as: "succeeded", result: jsonOrText(result) };
  }
  const why = choice === "failed" ? await ask(prompt, "Why? The model sees the reason.", needed) : null;
  return why === null ? null : { as: "failed", why };
}

async function askFor(prompt: PromptContext, choices: readonly string[]): Promise<string | null> {
  if (choices.length === 0) return ask(prompt, "Your answer:", needed);
  const choice = await choose(
    prompt,
    "Your answer:",
    Object.fromEntries(choices.map((each, i) => [`${i}`, each])),
  );
  return choice === null ? null : (choices[Number(choice)] ?? null);
}

const LEAVE = "leave";

/** Null if the user postpones the decision. */
async function choose(
  { context, signal }: PromptContext,
  message: string,
  ways: { readonly [way: string]: string },
): Promise<string | null> {
  const choice = await select({
    message,
    // Keys typed while the run was working must not decide anything.
    initialValue: LEAVE,
    options: [
      ...Object.entries(ways).map(([value, label]) => ({ value, label: cleanText(label) })),
      { value: LEAVE, label: "Decide later" },
    ],
    ...prompting(context, signal),
  });
  return isCancel(choice) || choice === LEAVE ? null : choice;
}

async function ask(
  { context, signal }: PromptContext,
  message: string,
  problem: (given: string) => string | undefined,
): Promise<string | null> {
  const answer = await text({
    message,
    validate: (given) => problem(given ?? ""),
    ...prompting(context, signal),
  });
  return isCancel(answer) ? null : answer;
}

function prompting({ stdin, stderr }: CliContext, signal: AbortSignal) {
  return { input: stdin.stream, output: stderr.stream, signal, showInstructions: false, withGuide: false };
}

/** Prints the subject of a wait, with the arguments exactly as they would be sent. */
function show(context: CliContext, wait: WaitRecord): void {
  const { kind, question, subject, toolCallId } = wait;
  const { bold, dim } = paint(context);
  const columns = context.stderr.columns - 1;
  const isAboutCall = kind !== "question" && toolCallId !== null;
  const lines = [
    "",
    ...wrap(cleanText(question), columns).map(bold),
    ...(isAboutCall ? wrap(cleanText(toolCallId), columns).map(dim) : []),
    ...(isAboutCall ? shownArguments(subject.arguments ?? null, columns) : []),
    ...(subject.requested === undefined
      ? []
      : [dim("requested as"), ...shownArguments(subject.requested, columns)]),
    ...(needsMore(wait) ? wrap(cleanText(stillNeeded(wait)), columns) : []),
    ...(isAboutCall ? hiddenBecause(subject).flatMap((why) => wrap(cleanText(why), columns)) : []),
    "",
  ];
  context.stderr.write(`${lines.join("\n")}\n`);
}

/** All arguments in full: the approver must see them. */
function shownArguments(value: Json, columns: number): readonly string[] {
  return JSON.stringify(value, null, 2)
    .split("\n")
    .flatMap((line) => {
      const indent = line.slice(0, line.search(/\S/));
      return wrap(cleanLine(line.trim()), columns - indent.length).map((part) => `${indent}${part}`);
    });
}

function nameOf(budget: Json | undefined): string {
  return typeof budget === "string" ? budget : "limit";
}

function needed(given: string): string | undefined {
  return given.trim() === "" ? "Enter a text, or press Escape to decide later." : undefined;
}

function limitProblem(given: string, used: Json | undefined): string | undefined {
  const limit = Number(given);
  const least = typeof used === "number" ? used : 0;
  if (given.trim() !== "" && Number.isFinite(limit) && limit > 0 && limit >= least) return undefined;
  return least > 0 ? `Enter a number of at least ${least}, which is needed now.` : "Enter a number above 0.";
}

function jsonOrText(given: string): Json {
  try {
    return JSON.parse(given) as Json;
  } catch {
    return given;
  }
}

function person({ context, person: given }: PromptContext): Person {
  return given ?? userOf(context);
}

async function done(intent: Promise<void>): Promise<true> {
  await intent;
  return true;
}
