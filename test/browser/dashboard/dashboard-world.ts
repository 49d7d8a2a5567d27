import { randomBytes } from "node:crypto";
import { join } from "node:path";
import AxeBuilder from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { z } from "zod";
import { ExampleProcess } from "../../../examples/example-process.ts";
import { accessHash, accessSecret } from "../../../src/core/access/access-secret.ts";
import type { Role } from "../../../src/core/access/role.ts";
import { EVERYTHING } from "../../../src/core/access/scope.ts";
import { agent, openStore, Runner, type Store, tool } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { freePort } from "../../store/postgres/postgres-server.ts";
import type { TestContext } from "../browser-tests.ts";

const SERVER = new URL("children/dashboard-server.ts", import.meta.url);
const FIVE_MINUTES = 300_000;

/** A clerk whose refunds people approve, a server in a process of its own, and what was really refunded. */
export class DashboardWorld {
  readonly store: Store;
  readonly url: string;
  readonly refunds: string[] = [];
  readonly runner: Runner;
  readonly #settings: NodeJS.ProcessEnv;
  #server: ExampleProcess | null = null;

  private constructor(store: Store, port: number, settings: NodeJS.ProcessEnv) {
    this.store = store;
    this.url = `http://127.0.0.1:${port}`;
    this.#settings = settings;
    this.runner = new Runner(this.#clerk(), { store, identity: "required" });
  }

  static async start(folder: string, dashboard: string): Promise<DashboardWorld> {
    const address = `file:${join(folder, "pawl.db")}`;
    const [store, port] = await Promise.all([openStore(address), freePort()]);
    const settings = { STORE: address, PORT: String(port), DASHBOARD: dashboard };
    const world = new DashboardWorld(store, port, settings);
    await world.startServer();
    return world;
  }

  async startServer(): Promise<void> {
    this.#server = await ExampleProcess.start(SERVER, this.#settings);
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

  /** A tab of this person on a page. */
  async signIn(context: TestContext, name: string, role: Role, path = "/") {
    const tab = await context.newTab(this.url);
    // What a page learns of a person who is not signed in yet, and of a server that is gone.
    tab.expectError(/the server responded with a status of 401/);
    await tab.page.goto(`${this.url}${path}#code=${await this.codeFor(name, role)}`);
    await expect.poll(() => tab.page.getByRole("status").first().innerText()).toBe("live");
    return tab;
  }

  /** A run that waits for a person to approve the refund of an order. */
  async waitingRun(runId: string, order: string): Promise<string> {
    await this.runner.enqueue(order, { runId });
    await this.work(runId);
    const [wait] = await this.store.listWaits(runId, { open: true });
    if (wait === undefined) throw new Error(`The run ${runId} does not wait.`);
    return wait.waitId;
  }

  /** Works on a run until it waits or has ended. */
  async work(runId: string): Promise<void> {
    for (;;) {
      const { next } = await this.runner.advance(runId, { turns: 10 });
      if (next !== "now") return;
    }
  }

  #clerk() {
    const refund = tool({
      name: "refund",
      description: "Refunds an order.",
      inputSchema: z.object({ order: z.string() }),
      effect: "external",
      approval: true,
      execute: ({ order }) => {
        this.refunds.push(order);
        return { refunded: order };
      },
    });
    const model = scriptedModel(({ turn, options }) => {
      if (turn > 1) return { text: "It is **refunded**." };
      const asked = options.prompt.find(({ role }) => role === "user");
      const order = /\d+/.exec(JSON.stringify(asked?.content))?.[0] ?? "";
      return { text: "I refund it.", toolCalls: [{ name: "refund", input: { order } }] };
    });
    return agent({ name: "clerk", instructions: "Help.", model, tools: { refund } });
  }
}

/** The rules of accessibility that a page breaks, in its present theme and width. */
export async function brokenRules(page: Page): Promise<readonly string[]> {
  await page.evaluate(AxeBuilder.source);
  const found = (await page.evaluate("axe.run(document, { resultTypes: ['violations'] })")) as {
    readonly passes: readonly unknown[];
    readonly violations: readonly {
      readonly id: string;
      readonly nodes: readonly { readonly html: string }[];
    }[];
  };
  // A look that saw nothing proves nothing.
  expect(found.passes.length).toBeGreaterThan(5);
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}
