import assert from "node:assert/strict";
import { ConfigurationError } from "../../../core/errors.ts";
import type { Store } from "../../../store/store.ts";
import { assertRefused, type Check, check, rejection } from "../check.ts";
import { newRun, newStep, SampleRun } from "../sample-run.ts";
import { sessionCommit, wholeSlice } from "../sample-session.ts";

/** Half of a surrogate pair is no character: every store keeps the sign for that instead. */
const LONE_SURROGATE = "a\ud800b";

/** Texts that a store could lose: by C strings, by its escapes, by quotes, by encodings. */
const TEXTS = [
  "",
  "\0",
  "a\0b\0",
  "\x01",
  "\x01\0\x02\x01\x01",
  "\u{f8f0}0",
  "\uffff\ufffe\ufeff",
  "é 🙂 \u{10ffff}",
  "\\ ' \" {,} $1 ? % \r\n\t",
  "e\u0301",
  LONE_SURROGATE,
] as const;

/** A name that no compression makes small, of so many bytes. */
function longName(bytes: number): string {
  let name = "";
  for (let i = 0; name.length < bytes; i++) name += ((i * 7_919) % 1_296).toString(36);
  return name.slice(0, bytes);
}

export const textChecks: readonly Check[] = [
  check(
    "every text is kept as it is, wherever it may be, but for half of a surrogate pair",
    async (scene) => {
      const { store } = scene;
      for (const [i, text] of TEXTS.entries()) {
        const runId = `run-${i} ${text}`;
        const run = await SampleRun.create(store, runId, { pipeline: text, entrypoint: text });
        const { fence, stepKey } = run;
        await store.beginStep(fence, newStep(`s${text}`, { phase: text }));
        await run.journaled(1, ["running", "running"]);
        await run.correlate(1, 1, text);
        await run.endAttempt(1, 1, { errorCode: text, errorDetail: text, correlationId: text });
        await run.receipt(1, 2, {
          output: { type: "text", value: text },
          errorCode: text,
          correlationId: text,
        });
        await store.keepArtifact(fence, { stepKey, name: `n${text}`, bytes: Buffer.from(text) });
        await run.waiting(run.wait(1, 1, { question: text }));
        await store.settle(
          run.callId(1, 1),
          { as: "failed", why: "It did not." },
          { by: `b${text.toWellFormed()}` },
        );
        assert.deepEqual(await textsOf(store, run), {
          ...Object.fromEntries(NAMES.map((name) => [name, text.toWellFormed()])),
          output: text,
        });
      }
    },
  ),

  check("lists are in the order of the bytes of names", async ({ store }) => {
    const run = await SampleRun.create(store);
    const names = ["b", "B", "a b", "a\0", "a\x01", "a", "é", "z", "\uffff", "🙂", "_"];
    for (const name of names)
      await store.keepArtifact(run.fence, { stepKey: run.stepKey, name, bytes: Buffer.from("x") });
    assert.deepEqual(
      (await store.listArtifacts(run.runId)).map(({ name }) => name),
      names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
    );
  }),

  check("names that are too long for an index are refused, and the longest ones are taken", async (scene) => {
    const { store } = scene;
    const run = await SampleRun.create(store);
    const { fence, stepKey } = run;
    const uses: readonly ((name: string) => Promise<unknown>)[] = [
      (name) => store.createRun(newRun(name)),
      (name) => store.createRun(newRun(`of ${name.length}`, { pipeline: name })),
      (name) => store.beginStep(fence, newStep(name)),
      (name) => store.skipStep(fence, newStep(`${name.slice(0, -1)}.`)),
      (name) => store.keepArtifact(fence, { stepKey, name, bytes: Buffer.from("x") }),
      (name) => store.beginWork(name, { runId: "r", request: null, createdAt: 0, deadline: null }),
    ];
    for (const use of uses) {
      const error = await assertRefused(store, run.runId, () => use(longName(1_025)), ConfigurationError);
      assert.match(String(error), /has 1025 bytes: use at most 1024\.$/);
      await use(longName(1_024));
      await use("\0".repeat(1_024));
    }
    await run.open(1);
    const slices = (name: string) => sessionCommit({ slices: [wholeSlice(name, [1])] });
    const commit = (name: string) =>
      store.commitTurn(fence, run.commit(1, { journal: run.journal(1), session: slices(name) }));
    assert.ok(ConfigurationError.isInstance(await rejection(commit(longName(1_025)))));
    await commit(longName(1_024));
  }),
];

const NAMES = [
  "runId",
  "pipeline",
  "entrypoint",
  "stepPath",
  "phase",
  "artifact",
  "errorCode",
  "errorDetail",
  "correlation",
  "receiptError",
  "question",
  "person",
] as const;

/** The text wherever it was written, as it is read back. */
async function textsOf(store: Store, run: SampleRun): Promise<Record<string, unknown>> {
  const record = await run.record();
  const [, step] = await store.listSteps(run.runId);
  const [attempt] = await run.tries();
  const { receipt } = await run.callAt(1, 2);
  const [wait] = await run.waits();
  const [artifact] = await store.listArtifacts(run.runId);
  return {
    runId: record.runId.replace(/^run-\d+ /, ""),
    pipeline: record.pipeline,
    entrypoint: record.entrypoint,
    stepPath: step?.path.slice(1),
    phase: step?.phase,
    artifact: artifact?.name.slice(1),
    errorCode: attempt?.errorCode,
    errorDetail: attempt?.errorDetail,
    correlation: attempt?.correlationId,
    receiptError: receipt?.errorCode,
    question: wait?.question,
    person: wait?.answeredBy?.slice(1),
    output: receipt?.output.value,
  };
}
