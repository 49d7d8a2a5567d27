import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import {
  claimOptions,
  LEASE_MS,
  newRun,
  newStep,
  SampleRun,
} from "../../../../src/testing/store/sample-run.ts";
import { forgeRun } from "../../../store/sqlite/verify/forged-run.ts";
import type { Bundled } from "./bundle-mutant.ts";
import type { MutantCheck } from "./mutant.ts";

// Each is true if an effect with an unknown outcome counts as sent.

type Setting = {
  readonly folder: string;
  readonly file: string;
  /** A worker with an open turn; the request of the model was marked as sent, or not. */
  readonly worker: (request: "marked" | "unmarked") => Promise<SampleRun>;
  readonly open: () => ReturnType<Bundled["SqliteStore"]["open"]>;
};

/** With a leaping clock: the length of a lease passes between any two reads. */
async function within(
  { SqliteStore }: Bundled,
  check: (setting: Setting) => Promise<boolean>,
): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "pawl-marks-"));
  const file = join(folder, "pawl.db");
  const opened: Awaited<ReturnType<Setting["open"]>>[] = [];
  let monotonic = 0;
  const open = async () => {
    const store = await SqliteStore.open(file, { monotonic: () => (monotonic += LEASE_MS) });
    opened.push(store);
    return store;
  };
  const worker: Setting["worker"] = async (request) => {
    const store = await open();
    await store.createRun(newRun("r", { marksEffects: true }));
    const fence = { runId: "r", epoch: 1 };
    const run = new SampleRun(store, fence, await store.beginStep(fence, newStep("draft")));
    store.attend(fence);
    await run.open(1);
    if (request === "marked")
      await store.beginEffect(fence, { stepKey: run.stepKey, turnIndex: 1, callIndex: 0, attempt: 1 });
    return run;
  };
  try {
    return await check({ folder, file, worker, open });
  } finally {
    for (const store of opened) await store.vanish();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The number of requests that the next claim charges as lost; null if it is refused. */
async function chargedBy(open: Setting["open"]): Promise<number | null> {
  const store = await open();
  await store.isHeld("r");
  const outcome = await store.claimRun("r", claimOptions());
  return outcome.kind === "claimed" ? outcome.chargedAsLost.length : null;
}

function marksIn(folder: string): string {
  const name = readdirSync(folder).find((each) => each.includes("-sent-"));
  if (name === undefined) throw new Error("There are no marks.");
  return join(folder, name);
}

async function killed({ store }: SampleRun): Promise<void> {
  await (store as Awaited<ReturnType<Setting["open"]>>).vanish();
}

export const aSilentOwner: MutantCheck = (bundle) =>
  within(bundle, async ({ worker, open }) => {
    await worker("unmarked");
    return (await chargedBy(open)) === 1;
  });

export const gracefulClose: MutantCheck = (bundle) =>
  within(bundle, async ({ worker, open }) => {
    const { store } = await worker("marked");
    await store.close({ graceMs: 0 });
    const calls = await (await open()).listModelCalls("r");
    return calls.map(({ charge }) => charge?.basis).join() === "baseline";
  });

export const anotherBoot: MutantCheck = (bundle) =>
  within(bundle, async ({ folder, file, worker, open }) => {
    const run = await worker("unmarked");
    const { owner } = await run.record();
    await killed(run);
    const id = owner?.split("/").at(-1) ?? "";
    for (const name of readdirSync(folder))
      if (name.endsWith(id))
        renameSync(join(folder, name), join(folder, name.replace(id, `ffffffff${id.slice(8)}`)));
    const other = `${owner?.slice(0, -id.length)}ffffffff${id.slice(8)}`;
    forgeRun(file, "UPDATE runs SET owner = ?, lease_until = 0", other);
    return (await chargedBy(open)) === 1;
  });

export const anotherFile: MutantCheck = (bundle) =>
  within(bundle, async ({ folder, worker, open }) => {
    const marks = await worker("unmarked").then((run) => killed(run).then(() => marksIn(folder)));
    copyFileSync(marks, `${marks}.copy`);
    rmSync(marks);
    renameSync(`${marks}.copy`, marks);
    // The file system may reuse the old inode at once: this file takes it.
    writeFileSync(join(folder, "other"), "");
    return (await chargedBy(open)) === 1;
  });

export const aShortenedFile: MutantCheck = (bundle) =>
  within(bundle, async ({ folder, worker, open }) => {
    await killed(await worker("marked"));
    truncateSync(marksIn(folder), 64);
    return (await chargedBy(open)) === 1;
  });

/** Truncated, and then extended to its old length: only its content is lost. */
export const anExtendedFile: MutantCheck = (bundle) =>
  within(bundle, async ({ folder, worker, open }) => {
    await killed(await worker("marked"));
    const marks = marksIn(folder);
    const { size } = statSync(marks);
    truncateSync(marks, 64);
    truncateSync(marks, size);
    return (await chargedBy(open)) === 1;
  });

/** More effects at once than there are marks. */
export const noRoomForTheMark: MutantCheck = (bundle) =>
  within(bundle, async ({ worker, open }) => {
    const run = await worker("unmarked");
    const { store, fence } = run;
    const code = await store.beginStep(fence, newStep("code", { kind: "run" }));
    const many = 513;
    for (let n = 1; n <= many; n++) {
      await store.openToolCall(fence, { ...run.codeCall(n), stepKey: code.stepKey });
      await store.beginEffect(fence, { stepKey: code.stepKey, turnIndex: 0, callIndex: n, attempt: 1 });
    }
    await killed(run);
    const other = await open();
    const outcome = await other.claimRun("r", claimOptions());
    return outcome.kind === "claimed" && outcome.foundInDoubt.length === many;
  });

/** A call that may have happened, whose second attempt was started and never sent. */
export const anEarlierAttempt: MutantCheck = (bundle) =>
  within(bundle, async ({ file, open }) => {
    const { Runner, defineAgent, tool, SqliteStore } = bundle;
    let charges = 0;
    const charge = tool({
      description: "Charge a card.",
      inputSchema: z.object({}),
      execute: () => {
        charges += 1;
        return "charged";
      },
    });
    const asked = { type: "tool-call", toolCallId: "c", toolName: "charge", input: {} } as const;
    const model = {
      provider: "own",
      modelId: "own",
      respond: () =>
        Promise.resolve({
          content: charges === 0 ? [asked] : [{ type: "text" as const, text: "Done." }],
          finishReason: "stop",
          usage: null,
          invalidCalls: {},
          responseId: null,
        }),
    };
    const card = defineAgent({ name: "card", model, tools: { charge } });
    const dieAt = (point: string) => (reached: string) => {
      if (reached === point) throw new Error("The process died.");
    };
    /** Works up to a point, and then behaves as after a kill. */
    const until = async (point: string, act: (runner: InstanceType<typeof Runner>) => Promise<unknown>) => {
      const store = await SqliteStore.open(file);
      let isDead = false;
      const die = dieAt(point);
      const probe = (reached: string) => {
        if (reached === point) isDead = true;
        die(reached);
      };
      const storeOfDead = new Proxy(store, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name);
          if (typeof value !== "function") return value;
          return (...args: unknown[]): unknown =>
            isDead && name !== "attend"
              ? Promise.reject(new Error("dead"))
              : (Reflect.apply(value, target, args) as unknown);
        },
      });
      await act(new Runner(card, { store: storeOfDead, probe })).catch(() => undefined);
      await store.vanish();
    };
    await until("tool:executed", (runner) => runner.run("Go", { runId: "r" }));
    const person = await open();
    await new Runner(card, { store: person }).resume("r");
    await person.settle("r/card#1.1", { as: "retry" });
    await until("tool:started", (runner) => runner.resume("r"));
    const result = await new Runner(card, { store: await open() }).resume("r");
    return result.status === "waiting" && charges === 1;
  });
