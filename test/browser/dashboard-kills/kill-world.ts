import { onTestFinished } from "vitest";
import { ExampleProcess } from "../../../examples/example-process.ts";
import { Runner, type Store } from "../../../src/index.ts";
import { createHandler } from "../../../src/server/http/create-handler.ts";
import { freePort } from "../../store/postgres/postgres-server.ts";
import type { Tab, TestContext } from "../browser-tests.ts";
import { openTestStore } from "../dashboard/test-database.ts";
import { isLive } from "./shown-pages.ts";
import { walk, walker } from "./walker.ts";

const SERVER = new URL("children/killed-server.ts", import.meta.url);
const WORKER = new URL("children/killed-worker.ts", import.meta.url);

/** What browsers print while a server is gone, and before a person has signed in. */
const LOST =
  /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE|ERR_NETWORK|status of 401/;

/** A store, a server and workers in processes of their own, and runs that commit while all of them are killed. */
export class KillWorld {
  readonly store: Store;
  readonly url: string;
  readonly address: string;
  readonly #runner: Runner;
  readonly #settings: NodeJS.ProcessEnv;
  #server: ExampleProcess | null = null;

  private constructor(store: Store, address: string, port: number, dashboard: string) {
    this.store = store;
    this.address = address;
    this.url = `http://127.0.0.1:${port}`;
    this.#settings = { STORE: address, PORT: String(port), DASHBOARD: dashboard };
    this.#runner = new Runner(walker, { store });
  }

  static async start(address: string, dashboard: string): Promise<KillWorld> {
    const [store, port] = await Promise.all([openTestStore(address), freePort()]);
    const world = new KillWorld(store, address, port, dashboard);
    await world.startServer();
    return world;
  }

  async close(): Promise<void> {
    this.signalServer("SIGCONT");
    await this.killServer();
    await this.store.close({ graceMs: 0 });
  }

  async startServer(): Promise<void> {
    this.#server ??= await ExampleProcess.start(SERVER, this.#settings);
  }

  async killServer(): Promise<void> {
    await this.#server?.kill();
    this.#server = null;
  }

  /** In good order. */
  async stopServer(): Promise<void> {
    await this.#server?.stop();
    this.#server = null;
  }

  signalServer(signal: "SIGSTOP" | "SIGCONT"): void {
    const pid = this.#server?.pid;
    if (pid !== undefined) process.kill(pid, signal);
  }

  /** Until the test ends: one that is left over would take the runs of the next test. */
  async startWorker(leaseMs = 5_000): Promise<ExampleProcess> {
    const worker = await ExampleProcess.start(WORKER, { ...this.#settings, LEASE_MS: String(leaseMs) });
    onTestFinished(() => worker.kill());
    return worker;
  }

  /** A run that commits so many turns, each of which takes so long. A worker takes it. */
  async startWalk(runId: string, turns: number, pauseMs: number): Promise<void> {
    await this.#runner.enqueue(walk(turns, pauseMs), { runId });
  }

  /** A tab of a person who was not here yet, on a page that is live. */
  async signIn(context: TestContext, path: string, url = this.url): Promise<Tab> {
    const codes = createHandler({ store: this.store, dashboard: false });
    const code = await codes.createLoginCode({ name: "ana" });
    return this.#open(context, `${url}${path}#code=${code}`, url);
  }

  /** Another tab of the same person. */
  async open(context: TestContext, path: string): Promise<Tab> {
    return this.#open(context, this.url + path, this.url);
  }

  async #open(context: TestContext, address: string, origin: string): Promise<Tab> {
    const tab = await context.newTab(origin);
    tab.expectError(LOST);
    await tab.page.goto(address);
    await isLive(tab.page);
    return tab;
  }
}
