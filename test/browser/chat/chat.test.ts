// The chat of the examples, in a real Chromium, with processes that are killed. `npm test` takes a sample; all journeys
// with both transports and on both databases with PAWL_TESTS=whole.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, it, onTestFinished } from "vitest";
import { buildPage } from "../../../examples/chat/build-page.ts";
import { openStore } from "../../../src/index.ts";
import type { Store } from "../../../src/store/store.ts";
import { IS_FULL_TEST, sampled } from "../../full-test.ts";
import { PATIENCE } from "../../patience.ts";
import { type PostgresServer, startPostgres } from "../../store/postgres/postgres-server.ts";
import { browserForTests } from "../browser-tests.ts";
import { ChatProcesses } from "./chat-processes.ts";
import type { Transport } from "./chat-tab.ts";
import { ChatTest } from "./chat-test.ts";
import { JOURNEYS } from "./journeys.ts";

const TRANSPORTS: readonly Transport[] = ["default", "pawl"];
const ALL = JOURNEYS.flatMap((journey) => TRANSPORTS.map((transport) => ({ ...journey, transport })));
const DATABASES = IS_FULL_TEST ? (["SQLite", "PostgreSQL"] as const) : (["SQLite"] as const);

const folder = mkdtempSync(join(tmpdir(), "pawl-chat-"));
const page = join(folder, "page");
const browser = browserForTests();
let customers = 0;

beforeAll(() => buildPage(page));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.for(DATABASES)("a customer, on %s,", (database) => {
  let postgres: PostgresServer | null = null;
  let shared: Opened | null = null;
  const address = () =>
    postgres === null
      ? `file:${join(folder, `${++customers}.db`)}`
      : `${postgres.url}?schema=${postgres.newSchema()}`;

  beforeAll(async () => {
    if (database === "PostgreSQL") postgres = await startPostgres();
    shared = await open(address());
  });
  afterAll(async () => {
    await shared?.close();
    await postgres?.stop();
  });

  for (const { title, run, isAlone, transport } of sampled(ALL, 5))
    it(`with the transport ${transport}, ${title}`, PATIENCE, async () => {
      const opened = isAlone === true || shared === null ? await open(address()) : shared;
      if (opened !== shared) onTestFinished(opened.close);
      await opened.chat.startAll();
      const context = await browser.newContext();
      const customer = `customer-${++customers}`;
      await run(new ChatTest({ ...opened, browser: context, transport, customer }));
    });
});

type Opened = { readonly chat: ChatProcesses; readonly store: Store; readonly close: () => Promise<void> };

async function open(address: string): Promise<Opened> {
  const chat = await ChatProcesses.start(address, page);
  const store = await openStore(address);
  return {
    chat,
    store,
    close: async () => {
      await store.close();
      await chat.close();
    },
  };
}
