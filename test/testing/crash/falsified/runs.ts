import { blobOf, effectsOf, type Falsification, one, takeOut } from "../invariants-evidence.ts";

/** Falsified evidence of whole runs: how they end, what they store, and what a second resume does. */
export const FALSIFIED_RUNS: readonly Falsification[] = [
  [
    "writes-under-the-epoch",
    "an earlier owner has written",
    ({ writes }) => void (one(writes).currentEpoch += 1),
    /Process 1 did \w+ under epoch 1, when the run was at epoch 2/,
  ],
  [
    "references-have-blobs",
    "a blob is missing",
    ({ account }) => void (account.blobs[blobOf(account)] = null),
    /The receipt of read .* refers to blob [0-9a-f]{8} of \d+ bytes, but at the end it is missing/,
  ],
  [
    "references-have-blobs",
    "a blob holds something else",
    ({ account }) => void (account.blobs[blobOf(account)] = { blobId: "f00dface00", size: 1 }),
    /the stored blob has the hash f00dface/,
  ],
  [
    "references-have-blobs",
    "a receipt has another size than its blob has",
    ({ account }) => {
      const blob = account.blobs[blobOf(account)];
      if (blob) blob.size += 1;
    },
    /refers to blob .* but at the end the stored blob has \d+/,
  ],
  [
    "references-have-blobs",
    "an artifact has no bytes at a crash",
    ({ moments }) => {
      const account = one(one(moments));
      account.blobs[one(account.artifacts).hash] = null;
    },
    /Artifact note\.md of explored-1 refers to blob .* but at stop 1 it is missing/,
  ],
  [
    "same-end",
    "the output differs",
    ({ account }) => void (account.run.output = "Something else."),
    /explored-1 does not end as it does undisturbed: run\.output is "Something else\." and was "Done\."/,
  ],
  [
    "same-end",
    "a call has another outcome",
    ({ account }) => {
      const call = one(account.calls, ({ tool }) => tool === "ship");
      call.status = "failed";
    },
    /calls\.ship \(key [0-9a-f]{8}\)\.status is "failed" and was "succeeded"/,
  ],
  [
    "same-end",
    "there is one more call",
    ({ account: { calls } }) => calls.push({ ...one(calls), idempotencyKey: "f00dface00" }),
    /calls\.charge \(key f00dface\) is \{.*and was missing/,
  ],
  [
    "same-end",
    "the history differs",
    ({ account }) => account.histories.work?.push({ role: "user", content: "And?" }),
    /histories\.work\.\d+ is \{.*And\?.*\} and was missing/,
  ],
  [
    "same-end",
    "an artifact differs",
    ({ account }) => void (one(account.artifacts).hash = "f00dface"),
    /artifacts\.note\.md is "f00dface" and was/,
  ],
  [
    "same-end",
    "the session differs",
    ({ account }) => account.session.push({ name: "notes", kind: "state", version: 1, values: ["one"] }),
    /session\.notes is \{.*\} and was missing/,
  ],
  [
    "same-end",
    "a step has another output",
    ({ account }) => void (one(account.steps).output = "else"),
    /steps\.\w+\.output is "else"/,
  ],
  [
    "same-end",
    "there is no run",
    ({ accounts }) => accounts.splice(0),
    /There is no run explored-1, but undisturbed there is one/,
  ],
  [
    "ends-or-waits",
    "the run is left running",
    ({ account }) => void (account.run.status = "running"),
    /explored-1 is left running, but no process works on it/,
  ],
  [
    "ends-or-waits",
    "the run is left queued",
    ({ account }) => void (account.run.status = "queued"),
    /explored-1 is left queued, but no process resumes it/,
  ],
  [
    "ends-or-waits",
    "the run waits for nothing",
    ({ account }) => void (account.run.status = "waiting"),
    /explored-1 waits, but has neither an open wait nor an error/,
  ],
  [
    "ends-or-waits",
    "the run failed for no reason",
    ({ account }) => void (account.run.status = "failed"),
    /explored-1 has failed, but has no error/,
  ],
  [
    "ends-or-waits",
    "the last process threw",
    ({ lives }) => {
      const end = { kind: "threw", name: "StoreError", message: "It broke.", isDiverged: false } as const;
      Object.assign(lives.at(-1) ?? {}, { end });
    },
    /The last process threw StoreError \(It broke\.\), but undisturbed it returned/,
  ],
  [
    "ends-or-waits",
    "the last process hangs",
    ({ lives }) => void Object.assign(lives.at(-1) ?? {}, { end: { kind: "stuck" } }),
    /Process 2 hangs/,
  ],
  ["ends-or-waits", "no process ended", ({ lives }) => lives.splice(1), /No process ended/],
  [
    "resuming-twice-is-resuming-once",
    "a tool was called when the run was resumed again",
    ({ witness, again }) => again.witness.push({ ...one(effectsOf(witness, "look_up")) }),
    /Resuming explored-1 again called look_up/,
  ],
  [
    "resuming-twice-is-resuming-once",
    "the model was asked when the run was resumed again",
    ({ witness, again }) => again.witness.push({ ...one(witness, ({ kind }) => kind === "asked") }),
    /Resuming explored-1 again called the model/,
  ],
  [
    "resuming-twice-is-resuming-once",
    "resuming again was charged",
    ({ again }) => void (one(again.accounts).run.charged.tokens += 1),
    /Resuming explored-1 again changed it: run\.charged\.tokens is \d+ and was \d+/,
  ],
  [
    "resuming-twice-is-resuming-once",
    "resuming again created another run",
    ({ again }) => {
      const [account] = structuredClone(again.accounts);
      if (account !== undefined)
        again.accounts.push({ ...account, run: { ...account.run, runId: "second" } });
    },
    /Resuming again created another run, second/,
  ],
  [
    "resuming-twice-is-resuming-once",
    "resuming again returned another result",
    ({ again }) => {
      const value = { runId: "explored-1", status: "succeeded", output: "Something else." };
      again.end = { kind: "returned", value };
    },
    /The same work repeated returns another result: output is "Something else\."/,
  ],
  [
    "resuming-twice-is-resuming-once",
    "resuming again threw",
    ({ again }) => {
      again.end = { kind: "threw", name: "StoreError", message: "It broke.", isDiverged: false };
    },
    /The last process returned, but when repeated it threw StoreError/,
  ],
  [
    "events-verify",
    "a row does not match its event",
    ({ account }) => account.verification.problems.push({ row: "event 3", what: "was changed" }),
    /In explored-1, at the end, event 3 was changed/,
  ],
  [
    "events-verify",
    "the event log is empty",
    ({ account }) => void (account.verification.events = 0),
    /The event log of explored-1 is empty at the end/,
  ],
  [
    "no-more-effects-than-undisturbed",
    "the same effect happened again under another key",
    ({ witness }) => witness.push({ ...one(effectsOf(witness, "ship")), key: "f00dface00" }),
    /ship happened 2 times with the same arguments \(keys .*f00dface\), but undisturbed 1 times/,
  ],
  [
    "wanted-once-had-once",
    "two calls succeeded with an effect that is wanted once",
    ({ account }) =>
      account.calls.push({
        ...one(account.calls, ({ tool }) => tool === "notify"),
        toolCallId: "explored-1/other",
      }),
    /notify is wanted once in the run, but explored-1\/.* and explored-1\/other succeeded/,
  ],
  [
    "keys-fit-their-calls",
    "a call has a key that is not derived from it",
    ({ account }) => void (one(account.calls).idempotencyKey = "f00dface00"),
    /charge .* has the key f00dface, which is not derived from it/,
  ],
  [
    "runs-as-approved",
    "a call was run without approval",
    ({ again }) => void (one(one(again.accounts).waits, ({ kind }) => kind === "approval").answer = null),
    /call_taxi .* was run by process \d, but it was not approved/,
  ],
  [
    "runs-as-approved",
    "a call was run with other arguments than were approved",
    ({ witness }) => {
      for (const line of witness)
        if (line.kind === "entered" && line.tool === "call_taxi") line.fingerprint = "f00d";
    },
    /call_taxi .* was run by process \d, but other arguments were approved/,
  ],
  [
    "journaled-responses-kept",
    "a stored response is gone",
    ({ again }) => takeOut(one(again.accounts).turns, () => true),
    /turn 1 of work in explored-1 had its response at the end, but after resuming again it was discarded/,
  ],
  [
    "steps-done-once",
    "a finished step is no longer finished",
    ({ again }) => void (one(one(again.accounts).steps, ({ path }) => path === "prepare").status = "failed"),
    /Step prepare had finished at the end, but after resuming again its result differs/,
  ],
  [
    "nothing-runs-at-rest",
    "a call is running in a run that has ended",
    ({ account }) => void (one(account.calls).status = "running"),
    /explored-1 is succeeded at the end, but charge .* is running/,
  ],
  [
    "database-intact",
    "the database is corrupt",
    ({ integrity }) => integrity.push("row 3 missing from index runs_by_status"),
    /The integrity check of the database reports: row 3 missing/,
  ],
];
