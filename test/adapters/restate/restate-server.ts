// A real Restate server for tests: the binary of its npm package, in a folder and on loopback ports of its own.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../store/postgres/postgres-server.ts";

/** The file of the server; or why there is none that runs here. */
export function restateBinary(): { readonly file: string } | { readonly missing: string } {
  const name = `@restatedev/restate-server-${process.platform}-${process.arch}`;
  try {
    const file = createRequire(import.meta.url).resolve(`${name}/bin/restate-server`);
    const { status, error, stderr } = spawnSync(file, ["--version"], { encoding: "utf8", env: quiet() });
    return status === 0 ? { file } : { missing: `${file} does not start: ${error?.message ?? stderr}` };
  } catch {
    return { missing: `There is no package ${name}.` };
  }
}

/** Nothing of this process's own settings for Restate, and no telemetry. */
function quiet(): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith("RESTATE_"));
  return { ...Object.fromEntries(others), DO_NOT_TRACK: "1", RESTATE_DISABLE_TELEMETRY: "true" };
}

export type Invocation = { readonly id: string; readonly handler: string; readonly status: string };

export class RestateServer {
  readonly ingress: string;
  readonly admin: string;
  readonly #file: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "pawl-restate-"));
  readonly #ports: { readonly node: number; readonly ingress: number; readonly admin: number };
  #child: ChildProcess | null = null;
  #log = "";

  private constructor(file: string, ports: RestateServer["ports"]) {
    this.#file = file;
    this.#ports = ports;
    this.ingress = `http://127.0.0.1:${ports.ingress}`;
    this.admin = `http://127.0.0.1:${ports.admin}`;
  }

  get ports() {
    return this.#ports;
  }

  static async start(file: string): Promise<RestateServer> {
    const [node, ingress, admin] = [await freePort(), await freePort(), await freePort()];
    const server = new RestateServer(file, { node, ingress, admin });
    await server.restart();
    return server;
  }

  /** Starts it on the same folder and ports. */
  async restart(): Promise<void> {
    const { node, ingress, admin } = this.#ports;
    const env = {
      ...quiet(),
      RESTATE_LISTEN_MODE: "tcp",
      RESTATE_BIND_IP: "127.0.0.1",
      RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_DEFAULT_NUM_PARTITIONS: "1",
      RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "128 MiB",
      RESTATE_LOG_FILTER: "warn",
      RESTATE_LOG_DISABLE_ANSI_CODES: "true",
    };
    const args = ["--no-logo", "--node-name", "test", "--base-dir", this.#folder];
    const child = spawn(this.#file, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    const keep = (text: Buffer) => {
      this.#log = (this.#log + text.toString()).slice(-5_000);
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    await this.#untilReady(child);
  }

  async #untilReady(child: ChildProcess): Promise<void> {
    const isUp = (url: string) =>
      fetch(url).then(
        ({ ok }) => ok,
        () => false,
      );
    for (let tries = 0; tries < 1_200; tries++) {
      if (child.exitCode !== null) break;
      if ((await isUp(`${this.admin}/health`)) && (await isUp(`${this.ingress}/restate/health`))) return;
      await sleep(50);
    }
    throw new Error(`Restate did not start:\n${this.#log}`);
  }

  /** As a power cut would. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async register(port: number): Promise<void> {
    await this.#post("/deployments", { uri: `http://127.0.0.1:${port}`, force: true });
  }

  /** What it still has to do for a run. */
  async invocations(runId: string): Promise<readonly Invocation[]> {
    return this.#query(
      `SELECT id, target_handler_name AS handler, status FROM sys_invocation
        WHERE target_service_key = '${runId}' AND status <> 'completed'`,
    );
  }

  /** Everything that it keeps: invocations, also completed ones, and states of objects. */
  async leftovers(): Promise<readonly unknown[]> {
    const invocations = "SELECT id, target_service_key, target_handler_name, status FROM sys_invocation";
    return [...(await this.#query(invocations)), ...(await this.#query("SELECT * FROM state"))];
  }

  async #query<T>(query: string): Promise<readonly T[]> {
    const { rows } = (await this.#post("/query", { query })) as { readonly rows: readonly T[] };
    return rows;
  }

  async #post(path: string, body: unknown): Promise<unknown> {
    const response = await fetch(`${this.admin}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok)
      throw new Error(`Restate answered ${response.status} to ${path}: ${text}\n${this.#log}`);
    return JSON.parse(text) as unknown;
  }
}
