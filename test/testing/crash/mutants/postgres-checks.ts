import type { Store } from "../../../../src/store/store.ts";
import type { ProcessStore } from "../../../../src/testing/crash/databases/crash-database.ts";
import { claimOptions, SampleRun } from "../../../../src/testing/store/sample-run.ts";
import type { Bundled } from "./bundle-mutant.ts";

/** True if the promise holds, on the server at this address. */
export type PostgresCheck = (bundle: Bundled, url: string) => Promise<boolean>;

type Setting = {
  /** Opens the store of a simulated process, at this time. */
  readonly open: (now: () => number) => Promise<ProcessStore>;
  /** Runs SQL in the schema of the world. */
  readonly sql: (text: string, values?: readonly unknown[]) => Promise<readonly SqlRow[]>;
};

type SqlRow = Readonly<Record<string, unknown>>;

/** A time at which the leases of all checks run. */
const NOW = Date.UTC(2026, 0, 1);

/** With an empty world on the server. */
async function withWorld(
  { postgresWorlds, loadPg }: Bundled,
  url: string,
  check: (setting: Setting) => Promise<boolean>,
): Promise<boolean> {
  const database = await postgresWorlds(url);
  const { Client } = await loadPg();
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const world = await database.newWorld("");
    if (world.address.kind !== "postgres") throw new Error("The world is not on PostgreSQL.");
    await client.query({ text: `SET search_path TO "${world.address.schema}"` });
    const open: Setting["open"] = (now) =>
      world.open(
        { now, monotonic: () => 0, after: (_, fire) => cancelled(setImmediate(fire)) },
        { inFlight: 0, lastAnswer: null },
      );
    return await check({
      open,
      sql: async (text, values = []) => (await client.query({ text, values })).rows,
    });
  } finally {
    await client.end();
    await database.remove();
  }
}

function cancelled(immediate: NodeJS.Immediate): () => void {
  return () => clearImmediate(immediate);
}

/** A turn whose commit is done, and whose answer is lost, is there once, and its worker learns that. */
export const aLostAnswer: PostgresCheck = (bundle, url) =>
  withWorld(bundle, url, async ({ open }) => {
    const opened = await open(() => NOW);
    const run = await SampleRun.create(opened.store);
    await run.open(1);
    opened.fail("after");
    const isDone = await commits(opened.store, run, 1);
    opened.recover();
    const { charged } = await run.record();
    await opened.vanish();
    return isDone && charged.tokens === 30;
  });

/** A commit that the server answers with a rollback has failed. */
export const aRolledBackCommit: PostgresCheck = async ({ RoundTrip }) => {
  const outcomeOf = (answer: string) =>
    new Promise<object>((resolve) => {
      const trip = new RoundTrip([{ text: "COMMIT", values: [] }], null, resolve);
      trip.handleCommandComplete({ text: answer });
      trip.handleReadyForQuery();
    });
  return "error" in (await outcomeOf("ROLLBACK")) && !("error" in (await outcomeOf("COMMIT")));
};

/** A worker whose run's log was replaced by one with as many events does not build on what it remembers. */
export const aReplacedHead: PostgresCheck = (bundle, url) =>
  withWorld(bundle, url, async ({ open, sql }) => {
    const opened = await open(() => NOW);
    const run = await SampleRun.create(opened.store);
    await run.open(1);
    const forged = Buffer.alloc(32, 7);
    await sql("UPDATE runs SET event_hash = $1", [forged]);
    await commits(opened.store, run, 1);
    const [head] = await sql("SELECT event_hash FROM runs");
    await opened.vanish();
    // The worker stops: its server has lost what it knew.
    return head?.event_hash instanceof Uint8Array && forged.equals(head.event_hash);
  });

/** A free owner lock lets no process take a run that was connected after the last renewal: the server may have restarted. */
export const aYoungerSession: PostgresCheck = (bundle, url) =>
  withWorld(bundle, url, async ({ open, sql }) => {
    const owner = await open(() => NOW);
    const run = await SampleRun.create(owner.store);
    await owner.vanish();
    // An owner of the time before the restart.
    await sql("UPDATE runs SET owner = regexp_replace(owner, '-[0-9a-f]+$', '-0123456789abcdef')");
    const younger = await open(() => NOW + 1_000);
    // Past the lock, the claim finds that the name of the owner was changed.
    const outcome = await younger.store.claimRun(run.runId, claimOptions()).catch(() => null);
    await younger.vanish();
    return outcome?.kind === "busy";
  });

/** A process that was there before the last renewal takes the run of one whose lock is free. */
export const anOlderSession: PostgresCheck = (bundle, url) =>
  withWorld(bundle, url, async ({ open }) => {
    const older = await open(() => NOW - 1_000);
    const owner = await open(() => NOW);
    const run = await SampleRun.create(owner.store);
    const whileAlive = await older.store.claimRun(run.runId, claimOptions());
    await owner.vanish();
    const outcome = await older.store.claimRun(run.runId, claimOptions());
    await older.vanish();
    return whileAlive.kind === "busy" && outcome.kind === "claimed";
  });

/** A renewal of an earlier claim by the same owner changes nothing. */
export const aRenewalOfAnEarlierEpoch: PostgresCheck = (bundle, url) =>
  withWorld(bundle, url, async ({ open, sql }) => {
    const opened = await open(() => NOW);
    await SampleRun.create(opened.store);
    const [run] = await sql("SELECT run_key, owner, epoch FROM runs");
    const renewal = (epoch: number) =>
      bundle.statementsOf(
        [
          {
            kind: "renew",
            runId: "run-1",
            key: String(run?.run_key),
            owner: String(run?.owner),
            epoch,
            leaseMs: 1,
          },
        ],
        NOW,
      );
    const isAccepted = async (epoch: number) => {
      try {
        for (const { text, values } of renewal(epoch)) await sql(text, values);
        return true;
      } catch {
        return false;
      }
    };
    const epoch = Number(run?.epoch);
    const [own, earlier] = [await isAccepted(epoch), await isAccepted(epoch - 1)];
    await opened.vanish();
    return own && !earlier;
  });

async function commits(store: Store, run: SampleRun, turn: number): Promise<boolean> {
  try {
    await store.commitTurn(run.fence, run.commit(turn, { journal: run.journal(turn) }));
    return true;
  } catch {
    return false;
  }
}
