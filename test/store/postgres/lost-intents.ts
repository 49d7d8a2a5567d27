// Intents whose COMMIT is cut off, compared with the same ones whose COMMIT is not.

import { openStore } from "../../../src/store/open-store.ts";
import type { Store, StoreIntent } from "../../../src/store/store.ts";
import { readEverything } from "../../../src/testing/store/everything.ts";
import { withoutId } from "./access-cases.ts";
import { type Cut, CuttingProxy } from "./cutting-proxy.ts";
import { clockOfCases, INTENT_CASES } from "./intent-cases.ts";

export type IntentOutcome = {
  /** How many connections were cut while the intent was under way. */
  readonly cuts: number;
  /** What the caller got. */
  readonly answer: unknown;
  /** What is stored for its run. */
  readonly stored: unknown;
};

/** A store behind a proxy, and one that looks at what it stored. */
export class LostIntents {
  readonly #proxy: CuttingProxy;
  readonly #open: (url: string) => Promise<Store>;
  readonly #proxyUrl: string;
  readonly #store: Store;
  readonly #reader: Store;
  #controls = 0;

  private constructor(
    proxy: CuttingProxy,
    proxyUrl: string,
    open: (url: string) => Promise<Store>,
    stores: readonly [Store, Store],
  ) {
    this.#proxy = proxy;
    this.#proxyUrl = proxyUrl;
    this.#open = open;
    [this.#store, this.#reader] = stores;
  }

  static async start(url: string, port: number, schema: string): Promise<LostIntents> {
    const proxy = await CuttingProxy.start(port);
    const proxyUrl = url.replace(`:${port}/`, `:${proxy.port}/`);
    const options = { schema, redactionKey: "ab".repeat(32), now: () => 1_000_000 + clockOfCases.aheadMs };
    const open = (at: string) => openStore(at, options);
    return new LostIntents(proxy, proxyUrl, open, [await open(proxyUrl), await open(url)]);
  }

  /** Makes the intent due on a run of its own, cuts it off in this way, and reads what is stored. */
  async perform(intent: StoreIntent, cut: Cut | null): Promise<IntentOutcome> {
    const runId = `${intent}-${cut ?? `not-${++this.#controls}`}`;
    const store = intent === "close" ? await this.#open(this.#proxyUrl) : this.#store;
    clockOfCases.aheadMs = 0;
    const perform = await INTENT_CASES[intent](store, runId);
    const before = this.#proxy.cuts;
    this.#proxy.cutNext(cut);
    const answer = await perform().then(
      (value) => ({ value }),
      (error: unknown) => ({ error: String(error) }),
    );
    this.#proxy.cutNext(null);
    const stored = {
      run: await readEverything(this.#reader, runId),
      work: await this.#reader.findWork(runId),
      schedule: (await this.#reader.listSchedules()).find(({ name }) => name === runId) ?? null,
      firings: await this.#reader.listFirings(runId),
      access: (await this.#reader.listAccess()).filter(({ name }) => name === runId).map(withoutId),
      // Their numbers depend on the cases before.
      audit: (await this.#reader.listAudit({ who: runId })).map(({ no: _, target, act, ...entry }) => ({
        ...entry,
        act,
        target: act === "audit.trim" ? null : target,
      })),
      webhook: await this.#reader.getWebhook(runId),
      deliveries: await this.#reader.listDeliveries(runId),
      auditProblem: (await this.#reader.verifyAudit()).problem,
    };
    if (stored.run !== null) Object.assign(stored, { problems: await this.#problemsOf(runId) });
    return {
      cuts: this.#proxy.cuts - before,
      ...(comparable({ answer, stored }, runId) as Omit<IntentOutcome, "cuts">),
    };
  }

  async stop(): Promise<void> {
    await Promise.all([this.#store.close(), this.#reader.close()]);
    await this.#proxy.stop();
  }

  async #problemsOf(runId: string): Promise<readonly unknown[]> {
    const { problems } = await this.#reader.verify(runId);
    return problems.filter(({ row }) => !row.startsWith("blob "));
  }
}

/** Without what differs between two runs: their ids, their owners, and what was made of these. */
function comparable(value: unknown, runId: string): unknown {
  const text = JSON.stringify(value, (name, each: unknown) => {
    if (/^(?:owner|hash|rows|head|idempotencyKey)$/.test(name)) return "…";
    return each instanceof Uint8Array ? Buffer.from(each).toString("hex") : each;
  });
  return JSON.parse(text.replaceAll(runId, "RUN"));
}
