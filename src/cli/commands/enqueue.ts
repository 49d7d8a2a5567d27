import { parseInstant } from "../../core/job/duration.ts";
import type { Json } from "../../core/json.ts";
import type { EnqueueOptions } from "../../engine/runner/queue-options.ts";
import { Runner } from "../../engine/runner/runner.ts";
import { openStore } from "../../store/open-store.ts";
import { loadConfig, resolveStore } from "../config/config-file.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandInput } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";
import { durationOption } from "../context/duration-argument.ts";
import { parseJsonArgument } from "../context/json-argument.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { TRUST_OPTION } from "../job/job-trust.ts";
import { readInput } from "../job/run-input.ts";
import { findTarget, needsInput, type RunTarget } from "../job/run-target.ts";
import { redactionKeyIn } from "../run/command-store.ts";
import { runnerOptions } from "../run/run-work.ts";
import { formatTime } from "../screen/format.ts";
import { formatNextSteps } from "../screen/next-steps.ts";

export const enqueue: Command = {
  name: "enqueue",
  summary: "Put a run into the queue, for a worker to take",
  arguments: [{ name: "pipeline", summary: "a pipeline of pawl.config.ts, or a job file for one" }],
  options: [
    {
      flags: "--input <text>",
      summary: "the input; @file reads a file, parsed as JSON if it ends in .json",
    },
    { flags: "--run-id <id>", summary: "the id of the run; the same id again is the same run" },
    { flags: "--key <key>", summary: "your own key for the run, instead of an id" },
    { flags: "--queue <name>", summary: "the queue (default: default)" },
    { flags: "--concurrency-key <key>", summary: "runs of the same key are limited together" },
    { flags: "--priority <n>", summary: "of two ready runs, the higher one is taken first (default: 0)" },
    { flags: "--not-before <time>", summary: "begin at this time: 2026-12-24T18:00Z" },
    { flags: "--in <duration>", summary: "begin after this time: 45m, 3h, 2d" },
    { flags: "--meta <name=value>", summary: "what the run can be found by", isRepeatable: true },
    { flags: "--context <json>", summary: "what its tools get as call.run.context" },
    { flags: "--address <name>", summary: "a name by which messages reach it" },
    TRUST_OPTION,
  ],
  example: "pawl enqueue report --input 'Quantum computing' --key order-7",
  execute: async (context, input) => {
    const loaded = await loadConfig(context, input.text("config") ?? undefined);
    const target = await findTarget(context, input, loaded);
    if (typeof target.spec?.pipeline === "object" && target.spec.pipeline !== null)
      throw new WrongUseError(
        "This job brings a pipeline of its own, which no worker has: start it with `pawl run`, or put its pipeline into pawl.config.ts.",
      );
    const options = enqueueOptions(context, input);
    const given = await givenInput(context, input, target);
    const url = resolveStore(context, loaded, input.text("store") ?? undefined);
    const store = await openStore(url, redactionKeyIn(context, url));
    try {
      const { pipeline } = target;
      const work = { context, input, store, loaded, pipeline, isJob: target.spec !== null };
      const runner = new Runner(pipeline, runnerOptions(work));
      const { runId, existed } = await runner.enqueue(given, {
        ...options,
        ...(target.spec === null ? {} : { spec: target.spec }),
      });
      const run = await store.getRun(runId);
      const next = [
        { what: "A worker takes it", commands: [commandHint(input, "worker")] },
        { what: "Follow it", commands: [commandHint(input, "tail", runId, "--follow")] },
      ];
      const beginsAt = options.notBefore?.getTime() ?? 0;
      const when = beginsAt <= context.clock.now() ? "" : `, and begins at ${formatTime(beginsAt)}`;
      const text = existed
        ? `Run ${runId} was there already: it is ${run?.status ?? "gone"}.\n`
        : `Run ${runId} is queued${when}.\n`;
      return {
        exitCode: 0,
        text: `${text}${formatNextSteps(context, next)}`,
        document: { runId, existed, status: run?.status ?? null, next },
      };
    } finally {
      await store.close();
    }
  },
};

async function givenInput(
  { cwd }: CliContext,
  input: CommandInput,
  { spec, pipeline }: RunTarget,
): Promise<Json> {
  const text = input.text("input");
  if (text !== null) return readInput(cwd, text);
  if (spec !== null) return spec.input ?? spec.objective;
  if (!needsInput(pipeline)) return null;
  throw new WrongUseError(
    `${pipeline.name} begins with an agent, which needs an input: add --input TEXT or --input @file.`,
  );
}

function enqueueOptions(
  context: CliContext,
  input: CommandInput,
): EnqueueOptions & { readonly notBefore?: Date } {
  const text = (name: string) => input.text(name) ?? undefined;
  const [runId, key, queue] = [text("runId"), text("key"), text("queue")];
  if (runId !== undefined && key !== undefined)
    throw new WrongUseError("--run-id and --key both name the run: leave one of them out.");
  const [concurrencyKey, address, given] = [text("concurrencyKey"), text("address"), text("context")];
  assertNotBlank({ "--queue": queue, "--concurrency-key": concurrencyKey, "--address": address });
  const notBefore = timeOf(context, input);
  const priority = text("priority");
  if (priority !== undefined && !/^-?\d{1,9}$/.test(priority))
    throw new WrongUseError(`--priority is ${JSON.stringify(priority)}: give a whole number.`);
  return {
    metadata: metadataOf(input.list("meta")),
    ...(runId === undefined ? {} : { runId }),
    ...(key === undefined ? {} : { key }),
    ...(queue === undefined ? {} : { queue }),
    ...(concurrencyKey === undefined ? {} : { concurrencyKey }),
    ...(address === undefined ? {} : { address }),
    ...(priority === undefined ? {} : { priority: Number(priority) }),
    ...(notBefore === null ? {} : { notBefore }),
    ...(given === undefined ? {} : { context: parseJsonArgument("--context", given) }),
  };
}

function assertNotBlank(names: { readonly [flag: string]: string | undefined }): void {
  const blank = Object.keys(names).find((flag) => names[flag]?.trim() === "");
  if (blank !== undefined) throw new WrongUseError(`${blank} is blank: give a name, or leave it out.`);
}

function timeOf({ clock }: CliContext, input: CommandInput): Date | null {
  const [at, inText] = [input.text("notBefore"), input.text("in")];
  if (at !== null && inText !== null)
    throw new WrongUseError("--not-before and --in both say when it begins: leave one of them out.");
  if (inText !== null) {
    return new Date(clock.now() + durationOption("--in", inText));
  }
  if (at === null) return null;
  const instant = parseInstant(at);
  if (instant !== null) return new Date(instant);
  throw new WrongUseError(`--not-before is ${JSON.stringify(at)}: write a time such as 2026-12-24T18:00Z.`);
}

/** `tenant=acme`; a name that is given several times has all of its values. */
function metadataOf(given: readonly string[]): { readonly [name: string]: string | readonly string[] } {
  const values = new Map<string, string[]>();
  for (const each of given) {
    const [, name = "", value = ""] = /^([^=]+)=(.*)$/s.exec(each) ?? [];
    if (name === "") throw new WrongUseError(`--meta is ${JSON.stringify(each)}: write --meta tenant=acme.`);
    values.set(name, [...(values.get(name) ?? []), value]);
  }
  return Object.fromEntries(
    [...values].map(([name, all]) => [name, all.length === 1 ? (all[0] ?? "") : all]),
  );
}
