import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { ExampleProcess } from "../../../examples/example-process.ts";
import { accessHash, accessSecret } from "../../../src/core/access/access-secret.ts";
import type { Role } from "../../../src/core/access/role.ts";
import { EVERYTHING } from "../../../src/core/access/scope.ts";
import type { EnqueueOptions } from "../../../src/engine/runner/queue-options.ts";
import { type Json, Runner, type Store, Worker, type WorkerOptions } from "../../../src/index.ts";
import type { CrashPoint } from "../../../src/testing/index.ts";
import { freePort } from "../../store/postgres/postgres-server.ts";
import type { Tab, TestContext } from "../browser-tests.ts";
import { clerk, type Plan, POLICY, witnessed } from "./clerk.ts";
import { openTestStore, sqliteIn, type TestDatabase } from "./test-database.ts";

const SERVER = new URL("children/dashboard-server.ts", import.meta.url);
const WORKER = new URL("children/clerk-worker.ts", import.meta.url);
const FIVE_MINUTES = 300_000;

export const WAIT = { timeout: 20_000 };

/** What a page learns of a person who is not signed in yet. */
export const NOT_SIGNED_IN = /the server responded with a status of 401/;

export async function isLive(page: Page): Promise<void> {
  await expect.poll(() => page.getByRole("status").first().innerText(), WAIT).toBe("live");
}

/** A clerk, a server in a process of its own, and what the clerk really did. */
export class DashboardWorld {
  readonly store: Store;
  readonly url: string;
  readonly runner: Runner;
  readonly sql: TestDatabase["sql"];
  readonly #witness: string;
  readonly #settings: NodeJS.ProcessEnv;
  readonly #workspaces: string;
  #server: ExampleProcess | null = null;

  private constructor(store: Store, port: number, folder: string, dashboard: string, database: TestDatabase) {
    this.store = store;
    this.sql = database.sql;
    this.url = `http://127.0.0.1:${port}`;
    this.#witness = join(folder, "witness");
    this.#workspaces = join(folder, "workspaces");
    this.#settings = {
      STORE: database.address,
      PORT: String(port),
      DASHBOARD: dashboard,
      WITNESS: this.#witness,
      WORKSPACES: this.#workspaces,
    };
    this.runner = new Runner(clerk({ witness: this.#witness }), {
      store,
      identity: "required",
      policy: POLICY,
      workspaceRoot: this.#workspaces,
      startedBy: { by: "test" },
    });
  }

  /** `folder` is for what the clerk does and for workspaces, and `dashboard` has the files that the server serves. */
  static async start(
    folder: string,
    dashboard: string,
    database = sqliteIn(folder),
  ): Promise<DashboardWorld> {
    const [store, port] = await Promise.all([openTestStore(database.address), freePort()]);
    const world = new DashboardWorld(store, port, folder, dashboard, database);
    await world.startServer();
    return world;
  }

  async startServer(): Promise<void> {
    this.#server = await ExampleProcess.start(SERVER, this.#settings);
  }

  /** The address that the server has printed for whoever started it. */
  get printedAddress(): string {
    return this.#server?.firstLine ?? "";
  }

  async killServer(): Promise<void> {
    await this.#server?.kill();
    this.#server = null;
  }

  async close(): Promise<void> {
    await this.killServer();
    await this.store.close();
  }

  /** The secret of a code that signs this person in once. */
  async codeFor(name: string, role: Role): Promise<string> {
    const secret = accessSecret(randomBytes(32));
    const expiresAt = Date.now() + FIVE_MINUTES;
    const access = { kind: "code", name, role, scope: EVERYTHING, createdBy: "test" } as const;
    await this.store.grantAccess({ ...access, hash: accessHash(secret), expiresAt });
    return secret;
  }

  /** A tab of this person on a page that is live. */
  async signIn(context: TestContext, name: string, role: Role, path = "/"): Promise<Tab> {
    const tab = await context.newTab(this.url);
    tab.expectError(NOT_SIGNED_IN);
    await tab.page.goto(`${this.url}${path}#code=${await this.codeFor(name, role)}`);
    await isLive(tab.page);
    return tab;
  }

  /** A run for a worker of its queue. */
  async enqueue(runId: string, plan: Plan, options: EnqueueOptions = {}): Promise<string> {
    await this.runner.enqueue(JSON.stringify(plan), { queue: "nobody", ...options, runId });
    return runId;
  }

  /** A run that was worked on until it waits or has ended. */
  async worked(runId: string, plan: Plan, options: EnqueueOptions = {}): Promise<string> {
    await this.enqueue(runId, plan, options);
    await this.work(runId);
    return runId;
  }

  /** Works on a run until it waits or has ended. */
  async work(runId: string): Promise<void> {
    for (;;) {
      const { next } = await this.runner.advance(runId, { turns: 10 });
      if (next !== "now") return;
    }
  }

  /** The only open wait of a run. */
  async openWait(runId: string): Promise<string> {
    const [wait, ...others] = await this.store.listWaits(runId, { open: true });
    if (wait === undefined || others.length > 0)
      throw new Error(`The run ${runId} does not wait for one thing.`);
    return wait.waitId;
  }

  /** A worker of a queue in this process, until the test ends. */
  startWorker(queue: string, options: Partial<WorkerOptions> & { readonly says?: string } = {}): void {
    const { says, ...others } = options;
    const worker = new Worker({
      store: this.store,
      pipelines: { clerk: clerk({ witness: this.#witness, ...(says === undefined ? {} : { says }) }) },
      policy: POLICY,
      workspaceRoot: this.#workspaces,
      queues: [queue],
      sweepMs: 100,
      ...others,
    });
    const stop = new AbortController();
    const ended = worker.run(stop.signal);
    onTestFinished(async () => {
      stop.abort();
      await ended;
    });
  }

  /** A worker of a queue in a process of its own, until the test ends or kills it. */
  async startProcess(queue: string, settings: NodeJS.ProcessEnv = {}): Promise<ExampleProcess> {
    const started = await ExampleProcess.start(WORKER, { ...this.#settings, ...settings, QUEUE: queue });
    onTestFinished(() => started.kill());
    return started;
  }

  /** Has the runs of a queue worked on by a process that dies at this point of a turn. */
  async dieIn(queue: string, point: CrashPoint, turn: number): Promise<void> {
    const dying = await this.startProcess(queue, { CRASH_AT: point, CRASH_TURN: String(turn) });
    await dying.ended;
  }

  /** What the clerk did outside for a run: each call with its arguments, as often as it was made. */
  effects(runId: string): readonly (readonly [tool: string, input: Json])[] {
    return witnessed(this.#witness).flatMap((what) =>
      what.kind === "effect" && what.runId === runId ? [[what.tool, what.input] as const] : [],
    );
  }

  /** The turns that the model was asked for, for runs of this plan. */
  asked(plan: Plan): readonly number[] {
    const text = JSON.stringify(plan);
    return witnessed(this.#witness).flatMap((what) =>
      what.kind === "model" && what.plan === text ? [what.turn] : [],
    );
  }

  async status(runId: string): Promise<string | undefined> {
    return (await this.store.getRun(runId))?.status;
  }
}
