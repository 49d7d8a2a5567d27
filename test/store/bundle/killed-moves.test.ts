// A run moves from SQLite to PostgreSQL and back, and the process that moves it is killed at each step.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import {
  agent,
  exportBundle,
  importBundle,
  openStore,
  Pipeline,
  RunBusyError,
  Runner,
  Step,
  type Store,
  tool,
} from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { sampled } from "../../full-test.ts";
import { PATIENCE } from "../../patience.ts";
import { type PostgresServer, startPostgres } from "../postgres/postgres-server.ts";
import type { MoveOrder, MoveStep } from "./children/move.ts";

const child = fileURLToPath(new URL("children/move.ts", import.meta.url));

const EXPORT_STEPS: readonly MoveStep[] = [
  { when: "before", what: "moveRun", nth: 1 },
  { when: "after", what: "moveRun", nth: 1 },
  { when: "after", what: "readMovedRows", nth: 1 },
  { when: "before", what: "readMovedRows", nth: 8 },
  { when: "before", what: "rename", nth: 1 },
  { when: "after", what: "rename", nth: 1 },
];
const IMPORT_STEPS: readonly MoveStep[] = [
  { when: "before", what: "beginArrival", nth: 1 },
  { when: "after", what: "beginArrival", nth: 1 },
  { when: "after", what: "dropArrivingRows", nth: 1 },
  { when: "after", what: "storeArrivingRows", nth: 1 },
  { when: "before", what: "storeArrivingRows", nth: 2 },
  { when: "before", what: "finishArrival", nth: 1 },
  { when: "after", what: "finishArrival", nth: 1 },
];

const MOVES = [
  ...EXPORT_STEPS.map((step) => ({ act: "export", step }) as const),
  ...IMPORT_STEPS.map((step) => ({ act: "import", step }) as const),
];

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server.stop(), 60_000);

/** A store, and how a process reaches it. */
type Place = { readonly url: string; readonly schema: string | null; readonly store: Store };

function sentIn(log: string): string {
  return existsSync(log) ? readFileSync(log, "utf8").replaceAll("\n", "") : "";
}

/** Sends five letters, each of which leaves a line in a file; a person approves the last two. */
function letters(log: string) {
  const send = (approval: boolean) =>
    tool({
      description: "Send a letter.",
      inputSchema: z.object({ n: z.number() }),
      approval,
      execute: ({ n }) => {
        appendFileSync(log, `${n}\n`);
        // Two large results make a bundle that is stored in two pieces.
        return `${n}`.repeat(n < 3 ? 3_300_000 : 1);
      },
    });
  // By what was sent: the results are too large to be kept in the conversation.
  const script = () => {
    const n = sentIn(log).length + 1;
    const call = { name: n < 4 ? "send" : "send_approved", input: { n }, id: `letter-${n}` };
    return n > 5 ? { text: "Done." } : { toolCalls: [call] };
  };
  const writer = agent({
    name: "writer",
    model: scriptedModel(script),
    tools: { send: send(false), send_approved: send(true) },
  });
  return Pipeline.of("letters", Step.granular("write", writer));
}

async function opened(folder: string): Promise<{ readonly home: Place; readonly away: Place }> {
  const url = `file:${join(folder, "pawl.db")}`;
  const schema = server.newSchema();
  const [home, away] = [await openStore(url), await openStore(server.url, { schema })];
  onTestFinished(async () => {
    await Promise.all([home.close({ graceMs: 0 }), away.close({ graceMs: 0 })]);
    await server.sql(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    rmSync(folder, { recursive: true, force: true });
  });
  return { home: { url, schema: null, store: home }, away: { url: server.url, schema, store: away } };
}

async function killed(order: MoveOrder): Promise<void> {
  const process_ = spawn(process.execPath, [child, JSON.stringify(order)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [process_.stdout, process_.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
    });
  const [, signal] = (await once(process_, "close")) as [number | null, string | null];
  expect([printed, signal]).toEqual(["", "SIGKILL"]);
}

/** What moves the run is killed at the step, and is then done again to its end. */
async function movedWithKill(
  from: Place,
  to: Place,
  file: string,
  kill: (typeof MOVES)[number],
): Promise<void> {
  const target = await to.store.storeId();
  const order = { ...kill, file, to: target };
  if (kill.act === "export") await killed({ ...order, url: from.url, schema: from.schema });
  await assertNotInBoth(from, to);
  const isWritten = existsSync(file);
  expect(isWritten).toBe(kill.act === "export" && kill.step.what === "rename" && kill.step.when === "after");
  if (!isWritten) await exportBundle(from.store, "move-1", { file, to: target });
  if (kill.act === "import") await killed({ ...order, url: to.url, schema: to.schema });
  await assertNotInBoth(from, to);
  await importedInTheEnd(to.store, file);
  rmSync(file);
}

/** Where the run can be continued: in one store at the most. */
async function assertNotInBoth(...places: readonly Place[]): Promise<void> {
  const runs = await Promise.all(places.map(({ store }) => store.getRun("move-1")));
  const alive = runs.filter((run) => run !== null && run.status !== "moved");
  expect(alive.length).toBeLessThanOrEqual(1);
}

/** The killed process may be seen as alive for a moment. */
async function importedInTheEnd(store: Store, file: string): Promise<void> {
  for (;;) {
    try {
      await importBundle(store, file);
      return;
    } catch (error) {
      if (!RunBusyError.isInstance(error)) throw error;
      await sleep(100);
    }
  }
}

describe("a run whose move is killed", PATIENCE, () => {
  it.for(sampled(MOVES, MOVES.length))(
    "($act, $step.when $step.what $step.nth) arrives when it is moved again, and does everything once",
    async (kill) => {
      const folder = mkdtempSync(join(tmpdir(), "pawl-moves-"));
      const { home, away } = await opened(folder);
      const [log, file] = [join(folder, "log.txt"), join(folder, "move-1.bundle")];
      const continued = async ({ store }: Place) => {
        const [wait] = await store.listOpenWaits();
        await store.approve(wait?.waitId ?? "");
        const { status } = await new Runner(letters(log), { store }).resume("move-1");
        return [status, sentIn(log)];
      };
      const first = await new Runner(letters(log), { store: home.store }).run("x", { runId: "move-1" });
      expect(first.status).toBe("waiting");
      await movedWithKill(home, away, file, kill);
      expect(await continued(away)).toEqual(["waiting", "1234"]);
      await movedWithKill(away, home, file, kill);
      expect(await continued(home)).toEqual(["succeeded", "12345"]);
      expect((await home.store.verify("move-1")).problems).toEqual([]);
      expect((await away.store.verify("move-1")).problems).toEqual([]);
      expect((await away.store.getRun("move-1"))?.status).toBe("moved");
      // A killed export leaves its draft, under a name of its own.
      expect(readdirSync(folder).filter((name) => name.endsWith(".bundle"))).toEqual([]);
    },
  );
});
