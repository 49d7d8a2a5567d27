import { describe, expect, it } from "vitest";
import { isControlFlow } from "../../src/core/control-flow.ts";
import * as errors from "../../src/core/errors.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { reviveError, type StoredError } from "../../src/core/stored-error.ts";

const { PawlError, ResumeError } = errors;

/** One of each class, with its `recoverable` flag. */
const SAMPLES: [errors.PawlError, boolean][] = [
  [new errors.NotJsonError("m", { path: "$.a" }), false],
  [new errors.ConfigurationError("m", { tool: "send" }), false],
  [new ResumeError("m", { irrecoverable: true, changes: [{ what: "model", was: "a", is: "b" }] }), false],
  [new ResumeError("m", { irrecoverable: false, changes: [] }), true],
  [new errors.QuotaExceededError("m", { unit: "tokens", wanted: 2, remaining: 1 }), false],
  [new errors.MaxTurnsExceededError("m", { maxTurns: 20, step: "research" }), false],
  [new errors.AnswerCutOffError("m", { step: "research", turn: 2, maxOutputTokens: 300 }), false],
  [
    new errors.SchemaMisfitError("m", {
      agent: "clerk",
      step: "sort",
      tool: null,
      turn: 3,
      problem: "at price",
      given: "{}",
    }),
    false,
  ],
  [new errors.DeadlineExceededError("m", { deadline: "2026-01-01T00:00:00.000Z" }), false],
  [new errors.BudgetExceededError("m", { budget: "maxSteps", limit: 50, used: 51 }), false],
  [new errors.UnmetConditionsError("m", { unmet: ["email_sent_once"] }), false],
  [new errors.WorkspaceError("m", { name: "../report.pdf" }), false],
  [new errors.SliceValueError("m", { slice: "plan", path: "plan.steps.0.title" }), false],
  [new errors.SnapshotRestoreError("m", { reason: "unknown_slice", slice: "plan" }), false],
  [new errors.CheckpointStoreError("m", { reason: "corrupt", paths: ["request.json"] }), false],
  [new errors.WorkerBusyError("m", { worker: "worker-001" }), true],
  [new errors.MaxIterationsExceededError("m", { maxIterations: 5, step: "polish" }), false],
  [new errors.BlobMissingError("m", { blobId: "ab", runId: "q-1" }), false],
  [new errors.StoreUnavailableError("m", { reason: "busy" }), true],
  [new errors.StoreUnusableError("m", { reason: "newer" }), false],
  [new errors.RunNotFoundError("m", { runId: "q-1" }), false],
  [new errors.RunBusyError("m", { runId: "q-1", owner: "w-1", until: "2026-01-01T00:00:00Z" }), true],
  [new errors.RunMovedError("m", { runId: "q-1", to: "0f" }), false],
  [new errors.RunDeletedError("m", { runId: "q-1" }), false],
  [new errors.MessageRefusedError("m", { reason: "other_message" }), false],
  [new errors.BundleRefusedError("m", { reason: "target" }), false],
  [new errors.RunNotBegunError("m", { why: "waiting", runIds: ["r-1"] }), false],
  [new errors.LeaseLostError("m", { runId: "q-1", epoch: 3 }), true],
  [new errors.PersonNeededError("m", { waits: [] }), false],
  [new errors.WaitNotFoundError("m", { waitId: "q-1~1" }), false],
  [new errors.ToolCallNotFoundError("m", { toolCallId: "q-1/s#1.1" }), false],
  [new errors.AlreadySettledError("m", { id: "q-1~1", status: "answered" }), false],
  [new errors.NotApplied("m", { status: 503 }), false],
  [new errors.FinalFailure("m", { status: 404 }), false],
  [new errors.NeedsHuman("auth_failure", "m"), false],
  [new errors.NeedsWait("m", { kind: "time", due: { inMs: 5 } }), false],
  [new errors.ToolFailedError("m", { toolCallId: "q-1/s#1.1", tool: "send", errorCode: null }), false],
  [
    new errors.ModelCallError("m", {
      kind: "rate_limited",
      status: 429,
      retryAfterMs: 1000,
      retryable: true,
    }),
    true,
  ],
  [
    new errors.ModelCallError("m", { kind: "rejected", status: 400, retryAfterMs: null, retryable: false }),
    false,
  ],
  [new errors.StepFailedError("m", { step: "render" }), false],
  [new errors.PausedError("m", { why: "lunch" }), true],
  [new errors.PipelineAbortError("m", { why: "enough" }), false],
  [new errors.InfiniteRedirectError("m", { steps: ["a", "b"] }), false],
];
const named = SAMPLES.map(([error, recoverable]) => [error.name, error, recoverable] as const);

const CLASSES = Object.values(errors).filter(
  (value): value is typeof ResumeError =>
    typeof value === "function" && Object.prototype.isPrototypeOf.call(PawlError, value),
);

describe("every error class", () => {
  it("is among the samples above", () => {
    expect(CLASSES.length).toBeGreaterThan(15);
    expect(new Set(SAMPLES.map(([error]) => error.constructor))).toEqual(new Set(CLASSES));
  });

  it("has its own code and name", () => {
    expect(new Set(SAMPLES.map(([error]) => error.code)).size).toBe(CLASSES.length);
    for (const [error] of SAMPLES) expect(error.name).toBe(error.constructor.name);
  });

  it.each(named)("%s says whether a retry can help", (_, error, recoverable) => {
    expect(error.recoverable).toBe(recoverable);
  });

  it.each(named)("%s is revived from its stored form", (_, error, recoverable) => {
    const stored = JSON.parse(
      JSON.stringify({ code: error.code, message: `why: ${error.message}`, details: error.details }),
    ) as StoredError;
    const revived = reviveError(stored);
    expect(revived.constructor).toBe(error.constructor);
    expect(revived.name).toBe(error.name);
    expect(revived.code).toBe(error.code);
    expect(revived.message).toBe("why: m");
    expect(revived.details).toEqual(error.details);
    expect(revived.recoverable).toBe(recoverable);
    expect(revived.stack).toContain("why: m");
  });

  it("keeps its cause", () => {
    const cause = new Error("socket closed");
    expect(new errors.StepFailedError("m", { step: "a" }, { cause }).cause).toBe(cause);
    expect(new errors.ConfigurationError("m", {}, { cause }).cause).toBe(cause);
    expect(new errors.PausedError("m", {}, { cause }).cause).toBe(cause);
  });
});

describe("reviveError", () => {
  it("returns a StepFailedError for a code that this version does not know", () => {
    const revived = reviveError({ code: "from_the_future", message: "m", details: { a: 1 } });
    expect(revived).toBeInstanceOf(errors.StepFailedError);
    expect(revived.message).toBe("m");
  });
});

describe("ResumeError", () => {
  it("is irrecoverable exactly if it is not recoverable", () => {
    for (const irrecoverable of [true, false]) {
      const error = new ResumeError("m", { irrecoverable, changes: [] });
      expect(error.irrecoverable).toBe(irrecoverable);
      expect(error.recoverable).toBe(!irrecoverable);
    }
  });
});

describe("errors that user code throws to steer the run", () => {
  it.each([errors.PausedError, errors.PipelineAbortError, errors.InfiniteRedirectError])(
    "%o needs no arguments",
    (ErrorClass) => {
      const error = new ErrorClass();
      expect(error.message).toMatch(/^The .*\.$/);
      expect(error.details).toEqual({});
    },
  );

  it("and a lost lease, and the need for a person, are control flow; nothing else is", () => {
    const steering = SAMPLES.filter(([error]) => isControlFlow(error)).map(([error]) => error.code);
    expect(steering.sort()).toEqual([
      "infinite_redirect",
      "lease_lost",
      "paused",
      "person_needed",
      "pipeline_abort",
    ]);
    for (const other of [new Error("paused"), { code: "paused" }, "paused", null, undefined]) {
      expect(isControlFlow(other)).toBe(false);
    }
  });

  it("stay control flow in a derived class", () => {
    class Lunch extends errors.PausedError {}
    expect(isControlFlow(new Lunch())).toBe(true);
  });
});

describe("isInstance", () => {
  it.each(named)("recognises %s as a PawlError, as itself, and as nothing else", (_, error) => {
    expect(PawlError.isInstance(error)).toBe(true);
    expect(CLASSES.filter((ErrorClass) => ErrorClass.isInstance(error))).toEqual([error.constructor]);
  });

  it("recognises a derived error by its base", () => {
    class Lunch extends errors.PausedError {}
    expect(errors.PausedError.isInstance(new Lunch())).toBe(true);
    expect(Lunch.isInstance(new errors.PausedError())).toBe(false);
  });

  it.each([
    [new Error("x")],
    [null],
    [undefined],
    ["resume"],
    [{ code: "resume", name: "ResumeError" }],
    [{}],
  ])("does not recognise %o", (other) => {
    expect(PawlError.isInstance(other)).toBe(false);
    expect(ResumeError.isInstance(other)).toBe(false);
  });

  it("narrows to the class it is called on", () => {
    const error: unknown = new errors.RunNotFoundError("m", { runId: "q-1" });
    expect(errors.RunNotFoundError.isInstance(error) && error.details.runId).toBe("q-1");
  });

  it("works across two copies of the package", async () => {
    // A module under another address is another copy, as in two installed versions.
    const address = "../../src/core/errors.ts?second-copy";
    const copy = (await import(/* @vite-ignore */ address)) as typeof errors;
    const details: JsonObject & { irrecoverable: boolean; changes: [] } = {
      irrecoverable: true,
      changes: [],
    };
    const foreign: unknown = new copy.ResumeError("m", details);
    expect(foreign instanceof ResumeError).toBe(false);
    expect(PawlError.isInstance(foreign)).toBe(true);
    expect(ResumeError.isInstance(foreign)).toBe(true);
    expect(errors.PausedError.isInstance(foreign)).toBe(false);
    expect(isControlFlow(new copy.PausedError())).toBe(true);
    expect(copy.PawlError.isInstance(new ResumeError("m", details))).toBe(true);
  });
});
